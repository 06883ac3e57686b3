//! Counts the turns of an agent: how often it called its model.

use acquit_core::agent::AgentEvent;

/// How an agent's output shows a new call of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Output follows the result of a tool.
    ByResults,
    /// Output follows a record of usage: there is one for each call.
    ByUsage,
    /// Not at all, or the agent holds to its limit itself.
    Hidden,
}

/// The turns so far, counted in each way.
#[derive(Debug)]
pub(crate) struct Turns {
    by_results: Count,
    by_usage: Count,
}

#[derive(Debug)]
struct Count {
    turns: u32,
    /// Whether the next output starts a turn.
    ended: bool,
}

impl Default for Turns {
    fn default() -> Self {
        let none = || Count { turns: 0, ended: true };
        Self { by_results: none(), by_usage: none() }
    }
}

impl Turns {
    /// Records an event.
    pub(super) fn heed(&mut self, said: &AgentEvent) {
        match said {
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolUse { .. } => {
                for count in [&mut self.by_results, &mut self.by_usage] {
                    count.turns += u32::from(std::mem::take(&mut count.ended));
                }
            }
            AgentEvent::ToolResult { .. } => self.by_results.ended = true,
            AgentEvent::Usage(_) => self.by_usage.ended = true,
            _ => {}
        }
    }

    /// Returns how many turns have begun.
    pub(crate) fn begun(&self, shown: Shown) -> u32 {
        match shown {
            Shown::ByResults => self.by_results.turns,
            Shown::ByUsage => self.by_usage.turns,
            Shown::Hidden => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use acquit_core::agent::Usage;

    use super::*;

    #[test]
    fn several_tools_of_one_answer_are_one_turn() {
        let text = || AgentEvent::Text { text: "x".to_owned() };
        let tool = || AgentEvent::ToolUse { name: "bash".to_owned(), input: String::new() };
        let result = || AgentEvent::ToolResult { ok: true, text: String::new() };
        let usage = || AgentEvent::Usage(Usage::default());
        let begun = |shown, all: &[AgentEvent]| {
            let mut turns = Turns::default();
            all.iter().for_each(|said| turns.heed(said));
            turns.begun(shown)
        };
        let at_once = [text(), tool(), tool(), result(), result(), text()];
        assert_eq!(begun(Shown::ByResults, &at_once), 2);
        // An agent that reports each tool with its result, and the usage of the call after all of them.
        let one_by_one = [tool(), result(), tool(), result(), usage(), text(), usage()];
        assert_eq!(begun(Shown::ByUsage, &one_by_one), 2);
        assert_eq!(begun(Shown::Hidden, &one_by_one), 0);
    }
}
