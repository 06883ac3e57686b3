//! Suggests commands for a task: only those that work in its current state. The command line, messages, reports and
//! pages get theirs here, and tests run each one right after it was printed.

use std::path::Path;

use acquit_core::human_request::{Ask, HumanRequest, Kind};
use acquit_core::task::{End, State, Task};

use crate::diff::is_published;
use crate::merge::can_merge;

/// Maximum number of options to list one by one.
const MOST_OPTIONS: usize = 8;

/// A command and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// Its purpose.
    pub what: &'static str,
    /// The arguments after `acquit`, quoted for a shell.
    pub command: String,
}

fn offer(what: &'static str, command: String) -> Suggestion {
    Suggestion { what, command }
}

/// Returns the commands for a task in its current state. `dirty` is a checkout with changes that prevent a merge.
pub fn of(task: &Task, dirty: Option<&Path>) -> Vec<Suggestion> {
    let id = task.id();
    match &task.state {
        State::Ended { end: End::Done } => done(task, dirty),
        State::Waiting { request } => {
            let mut all = answers(task, request);
            all.push(offer("then", format!("run {id}")));
            all
        }
        State::Blocked { root, .. } => vec![
            offer("what it waits for", format!("show {}", root.task)),
            offer("when that is over", format!("run {id}")),
            offer("do not wait", format!("task retry {id}")),
        ],
        State::Working { cancel: None, .. } => {
            vec![offer("watch it", format!("attach {id}")), offer("end it", format!("task cancel {id}"))]
        }
        State::Working { cancel: Some(_), .. } | State::New => {
            vec![offer("what happened", format!("logs {id}"))]
        }
        State::Ended { end: End::Failed { .. } | End::NoImprovement | End::Cancelled { .. } } => {
            vec![offer("what happened", format!("logs {id}")), offer("try again", format!("task retry {id}"))]
        }
    }
}

/// Returns whether a merge of the task works now. `dirty` is a checkout with changes that prevent it.
pub fn can_be_merged(task: &Task, dirty: Option<&Path>) -> bool {
    can_merge(task) && dirty.is_none()
}

/// Returns the commands that answer what the task asks, for a text. Empty if it asks nothing.
pub fn answer_commands(task: &Task) -> Vec<String> {
    match &task.state {
        State::Waiting { request } => {
            answers(task, request).into_iter().map(|it| format!("acquit {}", it.command)).collect()
        }
        State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => Vec::new(),
    }
}

/// Joins commands for a sentence: "`acquit approve T-1` or `acquit reject T-1 "why"`".
pub fn in_words(commands: &[String]) -> String {
    let quoted: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Suggestions for a finished task: its work may be a branch, merged already, or only text.
fn done(task: &Task, dirty: Option<&Path>) -> Vec<Suggestion> {
    let id = task.id();
    if !is_published(task) || task.tip == task.base() {
        return vec![offer("look at it", format!("show {id}"))];
    }
    let mut all = vec![offer("look at it", format!("diff {id}"))];
    if can_be_merged(task, dirty) {
        all.push(offer("take it", format!("merge {id}")));
    }
    all
}

/// Returns the ways to answer a task's request.
fn answers(task: &Task, request: &HumanRequest) -> Vec<Suggestion> {
    let id = task.id();
    let words = || offer("answer", format!("answer {id} \"…\""));
    let choose = |option: &str| offer("answer", format!("answer {id} {}", quoted(option)));
    let reject = || offer("refuse", format!("reject {id} \"why\""));
    match &request.ask {
        Ask::Question { questions } => match questions.as_slice() {
            [only] => match only.kind {
                Kind::Text => vec![words()],
                Kind::Choice => {
                    let numbers = (1..=only.options.len()).take(MOST_OPTIONS);
                    let mut all: Vec<_> = numbers.map(|number| choose(&number.to_string())).collect();
                    all.push(words());
                    all
                }
                Kind::YesNo => vec![choose("yes"), choose("no")],
            },
            [] => vec![words()],
            several => {
                let blanks = vec!["\"…\""; several.len()].join(" ");
                vec![
                    offer("answer each", format!("answer {id} {blanks}")),
                    offer("answer all", format!("answer {id} \"…\"")),
                ]
            }
        },
        Ask::Choice { options } => {
            options.iter().take(MOST_OPTIONS).map(|option| choose(&option.to_string())).collect()
        }
        Ask::Stage { outcomes } => {
            outcomes.iter().take(MOST_OPTIONS).map(|outcome| choose(outcome.as_str())).collect()
        }
        Ask::Approval { .. } => vec![offer("approve", format!("approve {id}")), reject()],
        Ask::Budget { .. } | Ask::Stuck => {
            vec![offer("try again", format!("approve {id}")), words(), reject()]
        }
    }
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
