//! What the harness itself must know of what an agent said, whether or not the store keeps the words.

mod steps;

use std::collections::BTreeMap;

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::outcome::PAYLOAD_LIMIT;
use acquit_core::time::Timestamp;
use serde_json::Value;

use steps::Steps;

/// The last words of an agent are kept so far, for outcome markers: the largest payload and the words around it.
const LAST_WORDS: usize = PAYLOAD_LIMIT + 64 * 1024;

/// So many kinds of unknown records are told apart. An agent that prints more of them prints at random.
const UNKNOWN_KINDS: usize = 50;

/// The longest name of an unknown kind, and the longest id of a session: both are an agent's own words.
const NAME_LIMIT: usize = 200;

/// What was heard so far.
#[derive(Debug, Default)]
pub struct TurnSummary {
    /// What was used.
    pub usage: Usage,
    /// How many tools it used.
    pub tools: u64,
    /// The id by which its conversation can be continued.
    pub session: Option<String>,
    /// How it says that its turn ended; the last time counts.
    pub end: Option<End>,
    /// The provider's refusal of more work, if it has not gone on since.
    pub limit: Option<Limit>,
    /// What is wrong between it and its model, if it has not gone on since.
    pub fault: Option<ReportedFault>,
    /// What it reported in the form that it was asked for.
    pub report: Option<Value>,
    /// How many records of each kind its adapter does not know.
    pub unknown: BTreeMap<String, u64>,
    /// Its last tool uses.
    pub(crate) steps: Steps,
    last_words: String,
}

/// How an agent says that its turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether it reports success.
    pub ok: bool,
    /// Its words.
    pub text: String,
}

/// A provider's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Until when, if it said so.
    pub until: Option<Timestamp>,
    /// Its words.
    pub text: String,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedFault {
    /// What kind of thing.
    pub fault: Fault,
    /// The words for it.
    pub text: String,
    /// Whether the agent says that it tries again.
    pub again: bool,
}

impl TurnSummary {
    /// Takes note of what was said.
    pub fn heed(&mut self, said: &AgentEvent) {
        self.steps.heed(said);
        match said {
            AgentEvent::Usage(usage) => {
                self.usage.add(usage);
                // A cost that is told pays for everything before it as well.
                if usage.cost_micros.is_some() {
                    self.usage.settle();
                }
            }
            AgentEvent::Text { text } => {
                self.goes_on();
                self.remember(text);
            }
            AgentEvent::ToolUse { .. } => {
                self.goes_on();
                self.tools += 1;
            }
            AgentEvent::End { ok, text } => {
                if *ok {
                    self.limit = None;
                    self.fault = None;
                }
                self.remember(text);
                self.end = Some(End { ok: *ok, text: text.clone() });
            }
            AgentEvent::Session { id } if !id.is_empty() && id.len() <= NAME_LIMIT => {
                self.session = Some(id.clone());
            }
            AgentEvent::Limit { until, text } => {
                self.limit = Some(Limit { until: *until, text: text.clone() });
            }
            AgentEvent::Fault { fault, text, again } => {
                self.fault = Some(ReportedFault { fault: *fault, text: text.clone(), again: *again });
            }
            AgentEvent::Report { value } => self.report = Some(value.clone()),
            AgentEvent::Unknown { kind } => {
                let kind = acquit_core::agent::shorten(kind, NAME_LIMIT);
                if self.unknown.len() < UNKNOWN_KINDS || self.unknown.contains_key(&kind) {
                    *self.unknown.entry(kind).or_default() += 1;
                }
            }
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }

    /// What the agent said last, for outcome markers.
    pub fn last_words(&self) -> &str {
        &self.last_words
    }

    /// A trouble that the agent wanted to get over by itself is over when it works again, and so is an end.
    fn goes_on(&mut self) {
        self.fault.take_if(|trouble| trouble.again);
        self.end = None;
    }

    fn remember(&mut self, text: &str) {
        self.last_words.push_str(text);
        self.last_words.push('\n');
        if self.last_words.len() > 2 * LAST_WORDS {
            let mut cut = self.last_words.len() - LAST_WORDS;
            while !self.last_words.is_char_boundary(cut) {
                cut += 1;
            }
            self.last_words.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(all: &[AgentEvent]) -> TurnSummary {
        let mut summary = TurnSummary::default();
        all.iter().for_each(|said| summary.heed(said));
        summary
    }

    fn fault(fault: Fault, again: bool) -> AgentEvent {
        AgentEvent::Fault { fault, text: "busy".to_owned(), again }
    }

    #[test]
    fn a_trouble_is_over_when_the_agent_works_again_or_ends_well() {
        let text = || AgentEvent::Text { text: "going on".to_owned() };
        assert_eq!(after(&[fault(Fault::Server, true), text()]).fault, None);
        assert!(
            after(&[fault(Fault::Server, false), text()]).fault.is_some(),
            "it said that this is the end"
        );
        assert!(after(&[text(), fault(Fault::Server, true)]).fault.is_some());
        let end = |ok| AgentEvent::End { ok, text: String::new() };
        assert_eq!(after(&[fault(Fault::Login, false), end(true)]).fault, None);
        assert!(after(&[fault(Fault::Login, false), end(false)]).fault.is_some());
    }

    #[test]
    fn unknown_kinds_are_counted_and_bounded() {
        let all: Vec<AgentEvent> =
            (0..1_000).map(|n| AgentEvent::Unknown { kind: format!("kind {}", n % 200) }).collect();
        let summary = after(&all);
        assert_eq!((summary.unknown.len(), summary.unknown["kind 7"]), (UNKNOWN_KINDS, 5));
    }
}
