//! Splits output into lines, parses lines into items, and groups items into chunks. Every stage is bounded, and nothing
//! is lost.
//!
//! The file that the agent writes to is the complete record. A transcript keeps only the parts that a viewer wants to
//! see, with offsets.
//!
//! Secrets are redacted twice: in the incoming bytes, so that no limit cuts one in two, and in the parsed events,
//! because decoding may reveal one. Offsets refer to the redacted file, which replaces the original when the agent has
//! ended.

use acquit_core::agent::{AgentEvent, Chunk, Item, TEXT_LIMIT, shorten};

use crate::agent::LINE_LIMIT;
use crate::agent::Parser;
use crate::secrets::{Redactor, Stream};
use crate::turn_summary::TurnSummary;

/// Amount of output per chunk: one durable commit for what arrived together.
const CHUNK_BYTES: u64 = 1024 * 1024;

/// Maximum number of items per chunk. In a burst that is too fast to follow, only the file has them all.
const CHUNK_ITEMS: usize = 512;

/// Reads a leg's output as it arrives.
pub struct Transcript {
    parser: Box<dyn Parser>,
    redactor: Redactor,
    stream: Stream,
    clean: Vec<u8>,
    line: Vec<u8>,
    line_began: u64,
    chunk: Chunk,
    said: Vec<AgentEvent>,
    /// What the harness must know about the output.
    pub summary: TurnSummary,
}

impl Transcript {
    /// Creates a transcript that starts with the first byte of the output.
    pub fn new(parser: Box<dyn Parser>, redactor: Redactor) -> Self {
        Self {
            parser,
            stream: Stream::new(redactor.clone()),
            redactor,
            clean: Vec::new(),
            line: Vec::new(),
            line_began: 0,
            chunk: Chunk::default(),
            said: Vec::new(),
            summary: TurnSummary::default(),
        }
    }

    /// Adds output.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.stream.is_plain() {
            return self.take_clean(bytes);
        }
        let mut clean = std::mem::take(&mut self.clean);
        self.stream.push(bytes, &mut clean);
        self.take_clean(&clean);
        clean.clear();
        self.clean = clean;
    }

    fn take_clean(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (head, tail) = bytes.split_at(end + 1);
            self.chunk.to += head.len() as u64;
            if self.line.is_empty() && end <= LINE_LIMIT {
                self.hear(&head[..end]);
            } else {
                self.extend_line(&head[..end]);
                self.end_line();
            }
            bytes = tail;
        }
        self.extend_line(bytes);
        self.chunk.to += bytes.len() as u64;
    }

    /// Ends the output. A rest without a line end is a line too.
    pub fn finish(&mut self) {
        let mut rest = Vec::new();
        self.stream.finish(&mut rest);
        self.take_clean(&rest);
        if self.chunk.to > self.line_began {
            self.end_line();
        }
        self.parser.finish(&mut self.said);
        self.keep(self.line_began);
    }

    /// Returns whether there is enough for a separate commit.
    pub fn is_full(&self) -> bool {
        self.line_began - self.chunk.from >= CHUNK_BYTES
    }

    /// Returns the complete lines since the last chunk, if any.
    pub fn cut(&mut self) -> Option<Chunk> {
        if self.chunk.lines == 0 && self.chunk.items.is_empty() {
            return None;
        }
        let (border, end) = (self.line_began, self.chunk.to);
        let next = Chunk { from: border, to: end, ..Chunk::default() };
        let mut chunk = std::mem::replace(&mut self.chunk, next);
        chunk.to = border;
        Some(chunk)
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        let room = LINE_LIMIT.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Ends a line that arrived in pieces.
    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        self.hear(&line);
        line.clear();
        // Do not keep the memory of a line of maximum size for the rest of the leg.
        line.shrink_to(CHUNK_ITEMS * 128);
        self.line = line;
    }

    /// Handles a complete line, which ends at the current end of the output.
    fn hear(&mut self, line: &[u8]) {
        let offset = std::mem::replace(&mut self.line_began, self.chunk.to);
        self.chunk.lines += 1;
        self.parser.line(line, &mut self.said);
        self.keep(offset);
    }

    /// Keeps the events that the parser reported for the line at `offset`.
    fn keep(&mut self, offset: u64) {
        let mut said = std::mem::take(&mut self.said);
        for said in said.drain(..) {
            let hidden = || AgentEvent::Raw { text: "[a secret]".to_owned() };
            let said = self.redactor.stored(said).unwrap_or_else(hidden);
            self.summary.heed(&said);
            if self.chunk.items.len() < CHUNK_ITEMS {
                self.chunk.items.push(Item { offset, said: short(said) });
            } else {
                self.chunk.omitted += 1;
            }
        }
        self.said = said;
    }
}

fn short(said: AgentEvent) -> AgentEvent {
    let cut = |text: String| if text.len() > TEXT_LIMIT { shorten(&text, TEXT_LIMIT) } else { text };
    match said {
        AgentEvent::Text { text } => AgentEvent::Text { text: cut(text) },
        AgentEvent::Thinking { text } => AgentEvent::Thinking { text: cut(text) },
        AgentEvent::ToolUse { name, input } => AgentEvent::ToolUse { name: cut(name), input: cut(input) },
        AgentEvent::ToolResult { ok, text } => AgentEvent::ToolResult { ok, text: cut(text) },
        AgentEvent::Session { id } => AgentEvent::Session { id: cut(id) },
        AgentEvent::Limit { until, text } => AgentEvent::Limit { until, text: cut(text) },
        AgentEvent::End { ok, text } => AgentEvent::End { ok, text: cut(text) },
        AgentEvent::Raw { text } => AgentEvent::Raw { text: cut(text) },
        AgentEvent::Denied { tool, text } => AgentEvent::Denied { tool: cut(tool), text: cut(text) },
        AgentEvent::Fault { fault, text, again } => AgentEvent::Fault { fault, text: cut(text), again },
        AgentEvent::Unknown { kind } => AgentEvent::Unknown { kind: cut(kind) },
        AgentEvent::Usage(usage) => AgentEvent::Usage(usage),
        AgentEvent::Report { value } => {
            let text = value.to_string();
            if text.len() > TEXT_LIMIT {
                AgentEvent::Text { text: cut(text) }
            } else {
                AgentEvent::Report { value }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::config::{Adapter, Product};

    fn transcript() -> Transcript {
        of(&Adapter::Scripted { script: String::new() })
    }

    fn of(adapter: &Adapter) -> Transcript {
        let now = || acquit_core::time::Timestamp(0);
        let before = acquit_core::agent::Usage::default();
        let hearing = crate::agent::Hearing {
            before,
            model: None,
            structured: false,
            billing: None,
            prices: acquit_core::price::Prices::new(),
            now,
        };
        Transcript::new(crate::agent::parser(adapter, hearing), Redactor::default())
    }

    #[test]
    fn lines_survive_any_way_of_cutting_the_output() {
        let output =
            b"{\"type\":\"text\",\"text\":\"a\"}\n\nnot json \xff\0\n{\"type\":\"text\",\"text\":\"end\"}";
        let whole = {
            let mut one = transcript();
            one.take(output);
            one.finish();
            one.cut().unwrap()
        };
        assert_eq!((whole.from, whole.to, whole.lines, whole.items.len()), (0, output.len() as u64, 4, 3));
        for size in 1..output.len() {
            let mut pieces = transcript();
            output.chunks(size).for_each(|piece| pieces.take(piece));
            pieces.finish();
            assert_eq!(pieces.cut().unwrap(), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn chunks_follow_each_other_without_a_gap() {
        let mut transcript = transcript();
        let mut next = 0;
        let mut lines = 0;
        for number in 0..1_000 {
            transcript.take(format!("line {number}\nhalf").as_bytes());
            if let Some(chunk) = transcript.cut() {
                assert_eq!(chunk.from, next);
                (next, lines) = (chunk.to, lines + chunk.lines);
            }
        }
        transcript.finish();
        let last = transcript.cut().unwrap();
        assert_eq!((last.from, lines + last.lines), (next, 1_001));
    }

    #[test]
    fn a_line_without_end_costs_bounded_memory() {
        let mut transcript = transcript();
        for _ in 0..64 {
            transcript.take(&vec![b'x'; 256 * 1024]);
        }
        assert!(transcript.line.len() <= LINE_LIMIT);
        transcript.finish();
        let chunk = transcript.cut().unwrap();
        assert_eq!((chunk.to, chunk.lines), (64 * 256 * 1024, 1));
        assert!(transcript.cut().is_none());
    }

    #[test]
    fn a_line_of_a_hundred_megabytes_costs_its_limit_and_what_follows_is_heard() {
        let piece = vec![b'x'; 1024 * 1024];
        for &product in Product::ALL {
            let mut transcript = of(&Adapter::Product { product });
            transcript.take(b"{\"type\":\"text\",\"part\":{\"text\":\"");
            for _ in 0..100 {
                transcript.take(&piece);
                assert!(transcript.line.capacity() <= 2 * LINE_LIMIT, "{product:?}");
            }
            transcript.take(b"\"}}\n{\"type\":\"telepathy\"}\n");
            assert!(transcript.line.capacity() <= CHUNK_ITEMS * 128, "{product:?} keeps its memory");
            let chunk = transcript.cut().unwrap();
            assert_eq!(chunk.lines, 2, "{product:?}");
            let kept = serde_json::to_string(&chunk.items).unwrap().len();
            assert!(kept < 16 * TEXT_LIMIT, "{product:?}: {kept} bytes of it are kept");
            // The only product whose lines are not records.
            let kinds = usize::from(product != Product::Aider);
            assert_eq!(transcript.summary.unknown.get("telepathy").map_or(0, |_| 1), kinds, "{product:?}");
        }
    }

    #[test]
    fn a_burst_keeps_counting_what_it_does_not_keep() {
        let mut transcript = transcript();
        for _ in 0..2_000 {
            transcript.take(b"{\"type\":\"usage\",\"input\":1}\n");
        }
        let chunk = transcript.cut().unwrap();
        assert_eq!((chunk.lines, chunk.items.len() as u64 + chunk.omitted), (2_000, 2_000));
        assert_eq!(transcript.summary.usage.input, 2_000);
    }
}
