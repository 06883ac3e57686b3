//! Chooses the step of a script that answers a request, based only on the conversation in it.

use serde_json::Value;

use super::script::{Answer, Call, Scripts, Step, Stop};

/// A request to a model, in any protocol.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) system: String,
    pub(super) turns: Vec<Turn>,
    pub(super) tools: Vec<Tool>,
    pub(super) model: String,
}

/// The relevant turns of a conversation, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Text of the user, or of the agent program in the user's place.
    User(String),
    /// The model said something and called nothing.
    Said,
    /// A tool's result.
    Result,
}

/// A tool that the agent offers.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    /// Namespace of the tool in the protocol, to be named in calls.
    pub(super) namespace: Option<String>,
    /// JSON Schema of its arguments.
    pub(super) schema: Value,
}

/// The chosen step.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    pub(super) script: &'a str,
    pub(super) index: usize,
    /// `None` beyond the end of the script.
    pub(super) step: Option<&'a Step>,
}

/// Returns the script named by the last `[[name]]` that is a known script.
fn marker<'a>(text: &str, scripts: &'a Scripts) -> Option<(&'a str, &'a [Step])> {
    text.rmatch_indices("[[").find_map(|(at, opening)| {
        let (name, _) = text[at + opening.len()..].split_once("]]")?;
        scripts.0.get_key_value(name).map(|(name, steps)| (name.as_str(), steps.as_slice()))
    })
}

/// Returns whether the agent expects edits in the text instead of tool calls. Aider does, and says so.
pub(super) fn edits_in_text(asked: &Asked) -> bool {
    asked.tools.is_empty() && asked.system.contains("SEARCH/REPLACE")
}

/// Returns the step to take, or `None` for a side call.
pub(super) fn choose<'a>(asked: &Asked, scripts: &'a Scripts) -> Option<Chosen<'a>> {
    if asked.tools.is_empty() && !edits_in_text(asked) {
        return None;
    }
    let (at, (script, steps)) = asked.turns.iter().enumerate().rev().find_map(|(at, turn)| match turn {
        Turn::User(text) => marker(text, scripts).map(|found| (at, found)),
        Turn::Said | Turn::Result => None,
    })?;
    let index = position(steps, &asked.turns[at + 1..]);
    Some(Chosen { script, index, step: steps.get(index) })
}

/// Returns the position in a script after these turns since it started.
fn position(steps: &[Step], since: &[Turn]) -> usize {
    let calls = |index: usize| steps.get(index).and_then(Step::answer).map_or(0, |answer| answer.calls.len());
    let ends_a_turn = |index: usize| {
        let answer = steps.get(index).and_then(Step::answer);
        answer.is_some_and(|answer| answer.calls.is_empty() && answer.stop == Stop::End)
    };
    let (mut index, mut results) = (0, 0);
    for turn in since {
        match turn {
            Turn::User(_) => {}
            Turn::Said => {
                if ends_a_turn(index) {
                    index += 1;
                }
            }
            Turn::Result => {
                // A result belongs to calls. Steps without calls left no trace in the conversation, so skip them.
                while index < steps.len() && calls(index) == 0 {
                    index += 1;
                }
                results += 1;
                if results >= calls(index) {
                    (index, results) = (index + 1, 0);
                }
            }
        }
    }
    index
}

/// Combines the steps up to the end of the turn into one answer, for agents that read edits from the text.
pub(super) fn as_text(steps: &[Step]) -> Answer {
    let mut text = String::new();
    let mut last = Answer::default();
    for answer in steps.iter().map_while(Step::answer) {
        for call in &answer.calls {
            match call {
                Call::Write { path, content } => {
                    let line_end = if content.ends_with('\n') { "" } else { "\n" };
                    text.push_str(&format!(
                        "{path}\n```\n<<<<<<< SEARCH\n=======\n{content}{line_end}>>>>>>> REPLACE\n```\n\n"
                    ));
                }
                Call::Structured(value) => text.push_str(&format!("{value}\n")),
                // Nothing would run them.
                Call::Bash(_) | Call::Tool { .. } => {}
            }
        }
        text.push_str(&answer.text);
        last = answer.clone();
        if answer.calls.is_empty() {
            break;
        }
        text.push('\n');
    }
    Answer { text, calls: Vec::new(), ..last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Turn {
        Turn::User(text.to_owned())
    }

    fn asked(turns: Vec<Turn>) -> Asked {
        let tool = Tool { name: "bash".to_owned(), namespace: None, schema: Value::Null };
        Asked { turns, tools: vec![tool], ..Asked::default() }
    }

    fn chosen(turns: Vec<Turn>, scripts: &Scripts) -> Option<(String, usize)> {
        choose(&asked(turns), scripts).map(|chosen| (chosen.script.to_owned(), chosen.index))
    }

    fn scripts() -> Scripts {
        let two = Step::calls([Call::Bash("a".to_owned()), Call::Bash("b".to_owned())]);
        Scripts::default()
            .with("work", [two, Step::bash("c"), Step::say("one"), Step::bash("d"), Step::say("two")])
            .with("late", [Step::status(500).first(1, Step::bash("e")), Step::say("ok")])
            .with("long", [Step::stopped("so far", Stop::MaxTokens)])
    }

    #[test]
    fn the_last_known_marker_picks_the_script() {
        let scripts = scripts();
        let at = |text: &str| chosen(vec![user(text)], &scripts);
        assert_eq!(at("do [[work]] now"), Some(("work".to_owned(), 0)));
        assert_eq!(at("[[work]] and [[late]] and [[unknown]] [[half"), Some(("late".to_owned(), 0)));
        assert_eq!(at("if [[ -f x ]]; then"), None);
        let turns = vec![user("[[work]]"), Turn::Result, user("[[late]]"), user("a reminder")];
        assert_eq!(chosen(turns, &scripts), Some(("late".to_owned(), 0)));
    }

    #[test]
    fn what_came_after_it_picks_the_step() {
        let scripts = scripts();
        let at = |since: Vec<Turn>| {
            let turns = std::iter::once(user("[[work]]")).chain(since).collect();
            chosen(turns, &scripts).map(|(_, index)| index)
        };
        use Turn::{Result, Said};
        assert_eq!(at(vec![Result]), Some(0), "one of two calls");
        assert_eq!(at(vec![Result, Result]), Some(1));
        assert_eq!(at(vec![Said, Result, Result]), Some(1), "words before the calls");
        assert_eq!(at(vec![Result, Result, Result]), Some(2));
        assert_eq!(at(vec![Result, Result, Result, Said, user("go on")]), Some(3), "a resumed session");
        assert_eq!(at(vec![Result, Result, Result, Result]), Some(4), "what was said was not sent along");
        assert_eq!(at(vec![Result, Result, Result, Said, Result, Said]), Some(5), "beyond the end");
    }

    #[test]
    fn an_answer_that_was_broken_off_is_given_again() {
        let scripts = scripts();
        let turns = vec![user("[[long]]"), Turn::Said, user("go on"), Turn::Said, user("go on")];
        assert_eq!(chosen(turns, &scripts), Some(("long".to_owned(), 0)));
    }

    #[test]
    fn a_call_without_tools_is_a_side_call_unless_edits_are_text() {
        let scripts = scripts();
        let mut asked = Asked { turns: vec![user("[[work]]")], ..Asked::default() };
        assert!(choose(&asked, &scripts).is_none());
        asked.system = "answer with *SEARCH/REPLACE blocks*".to_owned();
        assert!(choose(&asked, &scripts).is_some());
    }

    #[test]
    fn an_agent_that_edits_by_text_gets_all_edits_at_once() {
        let steps = [
            Step::write("a", "1"),
            Step::bash("x"),
            Step::write("b", "2\n"),
            Step::say("done"),
            Step::say("no"),
        ];
        let block = |path: &str, text: &str| {
            format!("{path}\n```\n<<<<<<< SEARCH\n=======\n{text}\n>>>>>>> REPLACE\n```\n\n\n")
        };
        assert_eq!(as_text(&steps).text, format!("{}\n{}done", block("a", "1"), block("b", "2")));
    }

    #[test]
    fn the_first_times_are_counted() {
        let step = Step::status(500).first(2, Step::cut().first(1, Step::say("ok")));
        let kinds: Vec<_> = (0..4).map(|times| format!("{:?}", step.after(times))).collect();
        assert!(kinds[0].contains("500") && kinds[1].contains("500"), "{kinds:?}");
        assert!(kinds[2].contains("Cut") && kinds[3].contains("ok"), "{kinds:?}");
    }
}
