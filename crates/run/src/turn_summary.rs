//! A summary of an agent's output for the harness itself, independent of what the store keeps.

mod steps;
mod turns;

use std::collections::BTreeMap;

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::outcome::PAYLOAD_LIMIT;
use acquit_core::time::Timestamp;
use serde_json::Value;

use steps::Steps;
pub use turns::Shown;
use turns::Turns;

/// Amount of an agent's last output to keep for outcome markers: the largest payload and the text around it.
const LAST_WORDS: usize = PAYLOAD_LIMIT + 64 * 1024;

/// Maximum number of unknown record kinds to distinguish. An agent that prints more of them prints random
/// data.
const UNKNOWN_KINDS: usize = 50;

/// Maximum length of an unknown kind and of a session id. Both come from the agent.
const NAME_LIMIT: usize = 200;

/// Summary of a turn so far.
#[derive(Debug, Default)]
pub struct TurnSummary {
    /// Usage.
    pub usage: Usage,
    /// Number of tool uses.
    pub tools: u64,
    /// Id with which its conversation can be continued.
    pub session: Option<String>,
    /// How it reports the end of its turn. The last report counts.
    pub end: Option<End>,
    /// The provider's rejection of more work, unless the agent has continued since.
    pub limit: Option<Limit>,
    /// A fault between the agent and its model, unless the agent has continued since.
    pub fault: Option<ReportedFault>,
    /// Its structured report, if one was requested.
    pub report: Option<Value>,
    /// Number of records per kind that its adapter does not know.
    pub unknown: BTreeMap<String, u64>,
    /// Its last tool uses.
    pub(crate) steps: Steps,
    /// Its calls of the model.
    pub(crate) turns: Turns,
    last_words: String,
}

/// How an agent reports the end of its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether it reports success.
    pub ok: bool,
    /// Its message.
    pub text: String,
}

/// A provider's rejection of more work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// When the limit resets, if known.
    pub until: Option<Timestamp>,
    /// The message.
    pub text: String,
}

/// A reported fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedFault {
    /// Kind of the fault.
    pub fault: Fault,
    /// The message.
    pub text: String,
    /// Whether the agent reports that it retries.
    pub again: bool,
}

impl TurnSummary {
    /// Updates the summary with an event.
    pub fn heed(&mut self, said: &AgentEvent) {
        self.steps.heed(said);
        self.turns.heed(said);
        match said {
            AgentEvent::Usage(usage) => {
                self.usage.add(usage);
                // A reported cost also covers everything before it.
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

    /// Returns the agent's last output, for outcome markers.
    pub fn last_words(&self) -> &str {
        &self.last_words
    }

    /// Clears a fault that the agent retried, and an end, because the agent works again.
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
