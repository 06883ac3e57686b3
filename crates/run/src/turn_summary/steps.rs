//! Detects an agent that repeats itself.
//!
//! Repeating the same tool uses with the same results makes no progress, and neither does polling without a pause.
//! Repeating tests between edits, and waiting for something that changes, do not count.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use acquit_core::agent::AgentEvent;

/// Longest cycle of tool uses to detect.
const LONGEST_CYCLE: usize = 4;
/// Number of repetitions with the same results.
const REPEATS: usize = 30;
/// Number of repetitions with any results, if each takes less than [`QUICK`].
const BLIND_REPEATS: usize = 100;
const QUICK: Duration = Duration::from_secs(2);
/// Maximum length of a repeated command to show.
const SHOWN: usize = 200;

/// The last tool uses of an agent, with the results that it reported.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    last: VecDeque<Step>,
}

#[derive(Debug)]
struct Step {
    call: u64,
    result: u64,
    at: Instant,
    shown: String,
}

impl Steps {
    const KEPT: usize = BLIND_REPEATS * LONGEST_CYCLE;

    /// Records an event.
    pub(crate) fn heed(&mut self, said: &AgentEvent) {
        match said {
            AgentEvent::ToolUse { name, input } => {
                if self.last.len() == Self::KEPT {
                    self.last.pop_front();
                }
                let shown = acquit_core::agent::shorten(&format!("{name} {input}"), SHOWN);
                let at = Instant::now();
                self.last.push_back(Step { call: hash(&(name, input)), result: 0, at, shown });
            }
            AgentEvent::ToolResult { ok, text } => {
                if let Some(step) = self.last.back_mut() {
                    step.result = hash(&(step.result, ok, text));
                }
            }
            _ => {}
        }
    }

    /// Returns what the agent repeats, if it does.
    pub(crate) fn cycle(&self) -> Option<String> {
        let begun = self.last.len();
        for length in 1..=LONGEST_CYCLE {
            // The newest may not have its result yet.
            let repeats = |times: usize, same: &dyn Fn(&Step, &Step) -> bool| {
                let from = begun.checked_sub(times * length + 1)?;
                let part: Vec<&Step> = self.last.range(from..begun - 1).collect();
                let periodic = part.iter().zip(&part[length..]).all(|(one, next)| same(one, next));
                periodic.then_some(part)
            };
            let exactly = |one: &Step, next: &Step| one.call == next.call && one.result == next.result;
            let quickly = |one: &Step, next: &Step| {
                one.call == next.call && next.at - one.at < QUICK * u32::try_from(length).unwrap_or(1)
            };
            let found = repeats(REPEATS, &exactly).map(|part| (REPEATS, part));
            let found = found.or_else(|| repeats(BLIND_REPEATS, &quickly).map(|part| (BLIND_REPEATS, part)));
            if let Some((times, part)) = found {
                let shown: Vec<&str> = part.iter().take(length).map(|step| step.shown.as_str()).collect();
                return Some(format!("repeated {times} times: {}", shown.join("; ")));
            }
        }
        None
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(steps: &mut Steps, input: &str, result: &str) {
        steps.heed(&AgentEvent::ToolUse { name: "Bash".to_owned(), input: input.to_owned() });
        steps.heed(&AgentEvent::ToolResult { ok: true, text: result.to_owned() });
    }

    #[test]
    fn the_same_command_with_the_same_result_is_a_loop() {
        let mut steps = Steps::default();
        for _ in 0..REPEATS {
            used(&mut steps, "ls", "a b");
        }
        assert_eq!(steps.cycle(), None);
        used(&mut steps, "ls", "a b");
        assert_eq!(steps.cycle().unwrap(), format!("repeated {REPEATS} times: Bash ls"));
    }

    #[test]
    fn a_cycle_of_several_commands_is_a_loop_too() {
        let mut steps = Steps::default();
        for _ in 0..=REPEATS {
            used(&mut steps, "make", "fails");
            used(&mut steps, "cat log", "the same");
        }
        let words = steps.cycle().unwrap();
        assert!(words.contains("Bash make") && words.contains("Bash cat log"), "{words}");
    }

    #[test]
    fn waiting_for_something_that_changes_is_no_loop_but_asking_without_pause_is() {
        let mut steps = Steps::default();
        for number in 0..BLIND_REPEATS {
            used(&mut steps, "curl status", &number.to_string());
            assert_eq!(steps.cycle(), None, "after {number}");
        }
        used(&mut steps, "curl status", "done?");
        assert!(steps.cycle().is_some(), "so fast that nobody waits for anything");
    }

    #[test]
    fn work_that_repeats_its_tests_is_no_loop() {
        let mut steps = Steps::default();
        for number in 0..400 {
            used(&mut steps, &format!("edit line {number}"), "ok");
            used(&mut steps, "cargo test", "1 failed");
        }
        assert_eq!(steps.cycle(), None);
    }
}
