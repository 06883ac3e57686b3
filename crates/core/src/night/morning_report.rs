//! The morning report: what a night did in each repository, as Markdown, for messages, files and pages.
//!
//! Titles, reasons and links come from agents and repositories. They are bounded, put on one line, and escaped so that
//! Markdown treats them as text.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Night, State as NightState, memory};
use crate::agent::{Usage, shorten};
use crate::ids::TaskId;
use crate::price::dollars;
use crate::task::{Actor, End, State, Task, Tried};
use crate::text::is_hidden;
use crate::time::Span;
use crate::workflow::Workflow;

/// Maximum length of a reason: a line or two.
const REASON: usize = 300;

/// The result of a night in one repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The schedule's name for the repository.
    pub repository: String,
    /// Task, if there was one.
    pub task: Option<TaskId>,
    /// Kind of improvement, with the category it is a fallback from.
    pub category: Option<String>,
    /// First category of the night, if the work is about another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_from: Option<String>,
    /// Result.
    pub result: Result,
    /// Title of the change, if there is one.
    pub change: Option<String>,
    /// Commands that answer what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// Usage.
    pub usage: Usage,
    /// Duration.
    pub took: Option<Span>,
}

/// The result of a night in a repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Result {
    /// Opened a pull request.
    Requested {
        /// Its address.
        link: String,
    },
    /// Updated a pull request of an earlier night after feedback.
    Updated {
        /// Its address.
        link: String,
    },
    /// Delivered a branch.
    Branch {
        /// Branch name.
        name: String,
    },
    /// Done, without a branch.
    Done,
    /// No category succeeded.
    NoImprovement {
        /// Reason for each category.
        reasons: Vec<Tried>,
    },
    /// Failed.
    Failed {
        /// Reason.
        reason: String,
    },
    /// Waits for a person or another task.
    Waits {
        /// What it waits for.
        what: String,
    },
    /// Cancelled.
    Cancelled {
        /// Who cancelled it.
        by: String,
    },
    /// Still running.
    Working,
    /// Skipped.
    Skipped {
        /// Reason.
        reason: String,
    },
}

impl Result {
    /// Returns the name for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Requested { .. } => "MR_CREATED",
            Self::Updated { .. } => "MR_UPDATED",
            Self::Branch { .. } => "BRANCH_CREATED",
            Self::Done => "DONE",
            Self::NoImprovement { .. } => "NO_IMPROVEMENT",
            Self::Failed { .. } => "FAILED",
            Self::Waits { .. } => "NEEDS_YOU",
            Self::Cancelled { .. } => "CANCELLED",
            Self::Working => "WORKING",
            Self::Skipped { .. } => "SKIPPED",
        }
    }
}

/// Returns the category of the work, with its fallback: `refactoring (fallback from tests)`.
pub fn category(task: &Task, workflow: &Workflow) -> Option<String> {
    let (value, from) = variation(task, workflow)?;
    Some(match from {
        Some(first) => format!("{value} (fallback from {first})"),
        None => value,
    })
}

/// Returns the current variation value, and the first one if it differs.
fn variation(task: &Task, workflow: &Workflow) -> Option<(String, Option<String>)> {
    let first = task.tried.first().map(|tried| tried.value.clone());
    // After all values were tried there is no current one; the night was about the first.
    let over = matches!(task.state, State::Ended { end: End::NoImprovement });
    let value = if over { first.clone() } else { task.variation_value(workflow) }?;
    let from = first.filter(|first| *first != value);
    Some((value, from))
}

/// Creates the entry of a task, without commands.
pub fn entry(
    repository: &str,
    task: &Task,
    workflow: &Workflow,
    link: Option<String>,
    took: Option<Span>,
) -> Entry {
    let branch = task.artifacts.iter().find_map(|artifact| match artifact {
        crate::artifact::Artifact::Branch { name, published: true, .. } => Some(name.clone()),
        _ => None,
    });
    let result = match &task.state {
        State::Ended { end: End::Done } => match (link, branch) {
            (Some(link), _) => Result::Requested { link },
            (None, Some(name)) => Result::Branch { name },
            (None, None) => Result::Done,
        },
        State::Ended { end: End::NoImprovement } => Result::NoImprovement { reasons: task.tried.clone() },
        State::Ended { end: End::Failed { reason } } => Result::Failed { reason: reason.clone() },
        State::Ended { end: End::Cancelled { by } } => Result::Cancelled {
            by: match by {
                // The supervisor cancels a task only for this reason.
                Actor::Supervisor => "acquit: the night's budget was spent".to_owned(),
                Actor::Person(_) | Actor::Harness(_) => by.to_string(),
            },
        },
        State::Waiting { request } => Result::Waits { what: request.question.clone() },
        State::Blocked { root, .. } => {
            Result::Waits { what: format!("{} mends the same failure", root.task) }
        }
        State::New | State::Working { .. } => Result::Working,
    };
    let change = match &result {
        Result::Requested { .. } | Result::Updated { .. } | Result::Branch { .. } => {
            memory::proposals(task, None).pop().map(|proposal| proposal.candidate.title)
        }
        Result::Done
        | Result::NoImprovement { .. }
        | Result::Failed { .. }
        | Result::Waits { .. }
        | Result::Cancelled { .. }
        | Result::Working
        | Result::Skipped { .. } => None,
    };
    Entry {
        repository: repository.to_owned(),
        task: Some(task.id()),
        category: category(task, workflow),
        fallback_from: variation(task, workflow).and_then(|(_, from)| from),
        result,
        change,
        answers: Vec::new(),
        usage: task.usage(),
        took,
    }
}

impl Entry {
    /// Adapts the entry to a task of an earlier night that continued in this one: usage and duration are this night's
    /// share.
    #[must_use]
    pub fn again(self, usage: Usage) -> Self {
        let result = match self.result {
            Result::Requested { link } => Result::Updated { link },
            other => other,
        };
        Self { result, usage, ..self }
    }
}

/// Returns the title of a report.
pub fn title(night: &Night, date: &str, entries: &[Entry]) -> String {
    let count = |word: &str| entries.iter().filter(|entry| entry.result.word() == word).count();
    let made = count("MR_CREATED") + count("BRANCH_CREATED");
    let asks = count("NEEDS_YOU");
    let mut words = vec![match made {
        0 => "no change proposed".to_owned(),
        1 => "1 change proposed".to_owned(),
        more => format!("{more} changes proposed"),
    }];
    for (count, what) in [
        (count("MR_UPDATED"), "reworked"),
        (asks, "waiting for you"),
        (count("FAILED"), "failed"),
        (count("SKIPPED"), "left alone"),
    ] {
        if count > 0 {
            words.push(format!("{count} {what}"));
        }
    }
    match &night.state {
        NightState::Skipped { reason } => format!("{} {date}: skipped, {}", night.schedule, line(reason)),
        _ => format!("{} {date}: {}", night.schedule, words.join(", ")),
    }
}

/// Formats the whole report.
pub fn markdown(night: &Night, date: &str, entries: &[Entry]) -> String {
    let mut text = format!("## {}\n", line(&title(night, date, entries)));
    let mut total = Usage::default();
    for entry in entries {
        total.add(&entry.usage);
        let _ = write!(text, "\n### {}\n\n", line(&entry.repository));
        if let Some(category) = &entry.category {
            let _ = writeln!(text, "- Category: {}", line(category));
        }
        let _ = writeln!(text, "- Result: {}", result(&entry.result));
        if let Result::NoImprovement { reasons } = &entry.result {
            for tried in reasons {
                let _ = writeln!(text, "  - {}: {}", line(&tried.value), line(&tried.reason));
            }
        }
        if let Some(change) = &entry.change {
            let _ = writeln!(text, "- Change: {}", line(change));
        }
        if let Some(task) = entry.task {
            let next = match &entry.result {
                Result::Waits { .. } if entry.answers.is_empty() => {
                    format!(", more with `acquit show {task}`")
                }
                Result::Waits { .. } => {
                    // An option can be words of an agent: nothing in them ends the quotes.
                    let quoted = |command: &String| format!("`{}`", line(command).replace('`', "'"));
                    let commands: Vec<String> = entry.answers.iter().map(quoted).collect();
                    format!(", answer with {}", commands.join(" or "))
                }
                Result::Failed { .. } => format!(", more with `acquit logs {task}`"),
                Result::Requested { .. }
                | Result::Updated { .. }
                | Result::Branch { .. }
                | Result::Done
                | Result::NoImprovement { .. }
                | Result::Cancelled { .. }
                | Result::Working
                | Result::Skipped { .. } => String::new(),
            };
            let _ = writeln!(text, "- Task: {task}{next}");
            let _ = writeln!(text, "- Cost: {}", cost(&entry.usage));
        }
        if let Some(took) = entry.took {
            let _ = writeln!(text, "- Duration: {took}");
        }
    }
    if entries.len() > 1 {
        let _ = write!(text, "\nCost in all: {}\n", cost(&total));
    }
    text
}

/// Formats the report for a wiki page: XHTML with all foreign text escaped.
pub fn page(night: &Night, date: &str, entries: &[Entry]) -> String {
    let mut text = format!("<h2>{}</h2>", xhtml(&title(night, date, entries)));
    for entry in entries {
        let _ = write!(text, "<h3>{}</h3><ul>", xhtml(&entry.repository));
        let mut item = |label: &str, value: &str| {
            let _ = write!(text, "<li>{label}: {value}</li>");
        };
        if let Some(category) = &entry.category {
            item("Category", &xhtml(category));
        }
        item("Result", &page_result(&entry.result));
        if let Some(change) = &entry.change {
            item("Change", &xhtml(change));
        }
        if let Some(task) = entry.task {
            item("Task", &task.to_string());
            item("Cost", &cost(&entry.usage));
        }
        if let Some(took) = entry.took {
            item("Duration", &took.to_string());
        }
        text.push_str("</ul>");
    }
    text
}

fn page_result(result: &Result) -> String {
    let word = result.word();
    let more = match result {
        Result::Requested { link } | Result::Updated { link } if is_address(link) => {
            return format!("{word}, <a href=\"{0}\">{0}</a>", xhtml(link));
        }
        Result::Requested { link: text }
        | Result::Updated { link: text }
        | Result::Branch { name: text }
        | Result::Failed { reason: text }
        | Result::Skipped { reason: text }
        | Result::Waits { what: text }
        | Result::Cancelled { by: text } => text,
        Result::NoImprovement { reasons } => {
            let item = |tried: &Tried| format!("<li>{}: {}</li>", xhtml(&tried.value), xhtml(&tried.reason));
            return format!("{word}<ul>{}</ul>", reasons.iter().map(item).collect::<String>());
        }
        Result::Done | Result::Working => return word.to_owned(),
    };
    format!("{word}, {}", xhtml(more))
}

/// Escapes foreign text for a page: bounded, on one line, text only.
pub fn xhtml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shorten(text.trim(), REASON).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn result(result: &Result) -> String {
    let word = result.word();
    match result {
        Result::Requested { link } | Result::Updated { link } => format!("{word}, {}", address(link)),
        Result::Branch { name } => format!("{word}, branch `{}`", line(name).replace('`', "'")),
        Result::Done | Result::Working | Result::NoImprovement { .. } => word.to_owned(),
        Result::Failed { reason } | Result::Skipped { reason } => format!("{word}, {}", line(reason)),
        Result::Waits { what } => format!("{word}, {}", line(what)),
        Result::Cancelled { by } => format!("{word}, by {}", line(by)),
    }
}

/// Formats a cost in dollars with its source, or says that there is none.
pub fn cost(usage: &Usage) -> String {
    match usage.paid() {
        Some(micros) if usage.estimated() == 0 => dollars(micros),
        Some(micros) => format!("about {}", dollars(micros)),
        None if usage.is_empty() => "nothing used".to_owned(),
        None => "no price known".to_owned(),
    }
}

/// Formats an address as a link if it is valid, else as text.
fn address(link: &str) -> String {
    if is_address(link) { format!("<{link}>") } else { line(link) }
}

fn is_address(link: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !"<>\"'`()[]\\".contains(c);
    let web = link.starts_with("https://") || link.starts_with("http://");
    web && link.chars().all(plain) && link.len() <= REASON
}

/// Formats foreign text on one line: bounded, without hidden characters, and without anything Markdown or a page would
/// act on.
fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shorten(text.trim(), REASON).chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '[' | ']' | '!' | '*' | '|' | '#' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Name;
    use crate::time::Timestamp;

    fn night() -> Night {
        Night::new(Name::literal("night"), Timestamp(7), NightState::Over, Some("tests".to_owned()), &[])
    }

    fn one(repository: &str, category: Option<&str>, result: Result, cost: Option<u64>) -> Entry {
        Entry {
            repository: repository.to_owned(),
            task: Some(TaskId(7)),
            category: category.map(str::to_owned),
            fallback_from: None,
            change: matches!(result, Result::Requested { .. }).then(|| "Test the parser".to_owned()),
            result,
            answers: Vec::new(),
            usage: Usage { cost_micros: cost, input: 5, ..Usage::default() },
            took: Some(Span::mins(12)),
        }
    }

    /// SPEC §8: "A report …: category used, result, link, cost, duration", and `NO_IMPROVEMENT` with a reason per
    /// category.
    #[test]
    fn a_report_has_category_result_link_cost_duration_and_the_reasons_of_no_improvement() {
        let tried = |value: &str, reason: &str| Tried {
            next: None,
            last_leg: 0,
            value: value.to_owned(),
            reason: reason.to_owned(),
            failure: None,
            left: 0,
        };
        let reasons =
            vec![tried("tests", "all is covered"), tried("refactoring", "verify failed after retries")];
        let link = "https://forge.example/team/app/-/merge_requests/7".to_owned();
        let entries = [
            one(
                "git@forge.example:team/app.git",
                Some("refactoring (fallback from tests)"),
                Result::Requested { link },
                Some(1_234_567),
            ),
            one("/src/lib", Some("tests"), Result::NoImprovement { reasons }, Some(10_000)),
            Entry {
                answers: vec!["acquit approve T-7".to_owned(), "acquit reject T-7 \"why\"".to_owned()],
                ..one("/src/old", None, Result::Waits { what: "Which colour?".to_owned() }, None)
            },
            one("/src/other", None, Result::Waits { what: "T-3 mends the same failure".to_owned() }, None),
            Entry {
                task: None,
                took: None,
                ..one("/src/gone", None, Result::Skipped { reason: "3 open requests".to_owned() }, None)
            },
        ];
        insta::assert_snapshot!("markdown", markdown(&night(), "2026-06-01", &entries));
        insta::assert_snapshot!("page", page(&night(), "2026-06-01", &entries));
    }

    #[test]
    fn what_others_wrote_stays_text() {
        let evil = "a\n## b <script>alert(1)</script> [x](http://evil) \u{202e}c ![i](u)";
        let entries = [one(evil, Some(evil), Result::Failed { reason: evil.to_owned() }, None)];
        let text = markdown(&night(), "2026-06-01", &entries);
        assert!(!text.contains("<script") && !text.contains("[x]("), "{text}");
        assert!(!text.contains('\u{202e}') && !text.contains("\n## b"), "{text}");
        let odd = Result::Requested { link: "javascript:alert(1)".to_owned() };
        assert!(!markdown(&night(), "d", &[one("r", None, odd, None)]).contains("<javascript"));
    }

    #[test]
    fn the_title_says_how_many_changes_there_are() {
        let made = one("r", None, Result::Branch { name: "b".to_owned() }, None);
        assert_eq!(
            title(&night(), "2026-06-01", &[made.clone(), made]),
            "night 2026-06-01: 2 changes proposed"
        );
        assert_eq!(title(&night(), "2026-06-01", &[]), "night 2026-06-01: no change proposed");
    }
}
