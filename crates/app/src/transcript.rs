//! Reads transcripts: a part of one, the newest lines, and a search through all legs of a task.

use acquit_core::agent::{AgentEvent, Item};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::store::Store;

use crate::{App, Error};

/// Number of chunks to read at once.
const CHUNKS: u32 = 200;
/// Size of the newest part at the end of the output.
const TAIL: u64 = 32 * 1024;

/// A part of a leg's transcript.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Items of the part.
    pub items: Vec<Item>,
    /// Byte offset of the next part, if there is one.
    pub next: Option<u64>,
    /// Number of records that are only in the output file.
    pub omitted: u64,
}

/// A line that a search found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Leg of the line.
    pub leg: LegId,
    /// The line.
    pub item: Item,
}

/// Reads about `most` items, starting at a byte offset of the output.
pub fn part(store: &mut dyn Store, leg: LegId, from: u64, most: usize) -> Result<Part, Error> {
    let mut part = Part::default();
    let mut at = from;
    loop {
        let chunks = store.transcript(leg, at, CHUNKS)?;
        let Some(last) = chunks.last() else { return Ok(part) };
        at = last.to;
        for chunk in chunks {
            part.omitted += chunk.omitted;
            part.items.extend(chunk.items);
        }
        if part.items.len() >= most {
            part.next = Some(at);
            return Ok(part);
        }
    }
}

/// Returns the newest items of a leg. Computes their start from the size of the output file, so the cost does not
/// depend on its length. On a machine without that file, reads from the beginning.
pub fn newest(app: &App, store: &mut dyn Store, leg: LegId, most: usize) -> Result<Vec<Item>, Error> {
    let size = std::fs::metadata(app.runtime.leg_folder(leg).output()).map_or(0, |about| about.len());
    let mut items = Vec::new();
    let mut at = size.saturating_sub(TAIL);
    loop {
        let next = part(store, leg, at, most)?;
        items.extend(next.items);
        items.drain(..items.len().saturating_sub(most));
        match next.next {
            Some(next) => at = next,
            None => return Ok(items),
        }
    }
}

/// Returns the text of an item, if it has any.
pub fn words(said: &AgentEvent) -> String {
    match said {
        AgentEvent::Text { text }
        | AgentEvent::Thinking { text }
        | AgentEvent::ToolResult { text, .. }
        | AgentEvent::Limit { text, .. }
        | AgentEvent::End { text, .. }
        | AgentEvent::Fault { text, .. }
        | AgentEvent::Raw { text } => text.clone(),
        AgentEvent::ToolUse { name, input } => format!("{name} {input}"),
        AgentEvent::Denied { tool, text } => format!("{tool} {text}"),
        AgentEvent::Report { value } => value.to_string(),
        AgentEvent::Usage(_) | AgentEvent::Session { .. } | AgentEvent::Unknown { .. } => String::new(),
    }
}

/// Searches all legs for a text, ignoring case. Returns at most `most` lines, and whether there are more.
pub fn search(
    store: &mut dyn Store,
    task: TaskId,
    find: &str,
    most: usize,
) -> Result<(Vec<Hit>, bool), Error> {
    let find = find.to_lowercase();
    let mut hits = Vec::new();
    for leg in store.legs(task)? {
        let mut at = Some(0);
        while let Some(from) = at {
            let next = part(store, leg.id, from, CHUNKS as usize)?;
            at = next.next;
            for item in next.items {
                if words(&item.said).to_lowercase().contains(&find) {
                    if hits.len() == most {
                        return Ok((hits, true));
                    }
                    hits.push(Hit { leg: leg.id, item });
                }
            }
        }
    }
    Ok((hits, false))
}
