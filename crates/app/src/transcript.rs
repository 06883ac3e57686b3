//! Reading transcripts: a part of one, the newest lines, and a search through all legs of a task.

use acquit_core::agent::{AgentEvent, Item};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::store::Store;

use crate::{App, Error};

/// How many chunks are read at once.
const CHUNKS: u32 = 200;
/// So far before the end of the output its newest part begins.
const TAIL: u64 = 32 * 1024;

/// A part of a leg's transcript.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// What was said.
    pub items: Vec<Item>,
    /// The byte at which the next part begins, if there is one.
    pub next: Option<u64>,
    /// How many records are only in the output file.
    pub omitted: u64,
}

/// A line that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its leg.
    pub leg: LegId,
    /// The line.
    pub item: Item,
}

/// About `most` items from a byte of the output on.
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

/// The newest items of a leg. Where they begin is found by the size of the output, so it costs the same for every length. On a machine without
/// that file they are searched from the beginning.
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

/// The words of an item, as far as it has any.
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

/// The lines of all legs that contain some words, whatever their case, at most so many; and whether there are more.
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
