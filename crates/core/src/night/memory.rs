//! Proposals of earlier nights in a repository and their results. They are shown to the analyst and compared with its
//! new proposals.
//!
//! A prompt alone does not keep an agent from proposing the same again, so code compares its choice: the words of the
//! title and the named files. A proposal that was rejected, closed, failed or is still open is not accepted again. A
//! merged one may have a successor.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidate::Candidate;
use crate::ids::TaskId;
use crate::task::{End, State, Task};

/// Maximum number of stored proposals: some months of nights, and a page to read.
pub const MOST: usize = 60;

/// The result of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// In progress.
    Working,
    /// Its pull request is open.
    Open,
    /// Merged.
    Merged,
    /// Its pull request was closed, or its branch removed, without a merge.
    Closed,
    /// A person rejected it.
    Rejected,
    /// The gates rejected it, or it could not be done.
    Failed,
}

impl Fate {
    /// Returns the description for people and agents.
    pub fn words(self) -> &'static str {
        match self {
            Self::Working => "being worked on",
            Self::Open => "proposed, not yet decided",
            Self::Merged => "merged",
            Self::Closed => "closed without being merged",
            Self::Rejected => "rejected by a person",
            Self::Failed => "tried and failed",
        }
    }

    /// Returns whether the same may be proposed again.
    fn allows_again(self) -> bool {
        match self {
            Self::Merged => true,
            Self::Working | Self::Open | Self::Closed | Self::Rejected | Self::Failed => false,
        }
    }
}

/// A proposal of an earlier night.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Task that made it.
    pub task: TaskId,
    /// What was proposed.
    pub candidate: Candidate,
    /// Result.
    pub fate: Fate,
}

/// Returns the proposals of a task of an earlier night. `last` is the result of its delivered work, if any.
pub fn proposals(task: &Task, last: Option<Fate>) -> Vec<Proposal> {
    let outcomes = task.past.iter().filter_map(|past| Candidate::of(&past.ending.passed()?.payload));
    let mut all: Vec<Proposal> = Vec::new();
    for candidate in outcomes {
        // A repeated stage proposes the same again.
        if all.iter().all(|known| !known.candidate.is_like(&candidate)) {
            all.push(Proposal { task: task.id(), candidate, fate: Fate::Failed });
        }
    }
    let fate = match &task.state {
        State::Ended { end: End::Done } => last.unwrap_or(Fate::Open),
        State::Ended { end: End::Cancelled { .. } } => Fate::Rejected,
        State::Ended { end } if end.is_rejection() => Fate::Rejected,
        State::Ended { end: End::Failed { .. } | End::NoImprovement } => Fate::Failed,
        State::New | State::Working { .. } | State::Waiting { .. } | State::Blocked { .. } => Fate::Working,
    };
    if let Some(newest) = all.last_mut() {
        newest.fate = fate;
    }
    all
}

/// Returns why an analyst's choice is not accepted, if it is not.
pub fn refusal(earlier: &[Proposal], payload: &Value) -> Option<String> {
    let chosen = Candidate::of(payload)?;
    let known =
        earlier.iter().find(|known| !known.fate.allows_again() && known.candidate.is_like(&chosen))?;
    Some(format!(
        "`{}` was proposed before ({}, as `{}`: {}); choose another candidate, or report that there is none",
        chosen.title,
        known.task,
        known.candidate.title,
        known.fate.words()
    ))
}

/// Returns the number of open pull requests of earlier nights.
pub fn open(earlier: &[Proposal]) -> usize {
    let tasks: BTreeSet<TaskId> =
        earlier.iter().filter(|known| known.fate == Fate::Open).map(|known| known.task).collect();
    tasks.len()
}

/// Formats the proposals for the analyst, newest first.
pub fn told(earlier: &[Proposal]) -> String {
    if earlier.is_empty() {
        return "Nothing was proposed here on earlier nights.".to_owned();
    }
    let mut text = "Proposed here on earlier nights. Do not propose again what was rejected, closed, failed or is not yet decided: \
                    a choice that was made before is refused.\n"
        .to_owned();
    for known in earlier {
        let category =
            known.candidate.category.as_ref().map(|category| format!("[{category}] ")).unwrap_or_default();
        let files = match known.candidate.files.as_slice() {
            [] => String::new(),
            files => format!(" ({})", files.join(", ")),
        };
        text.push_str(&format!(
            "\n- {category}{}{files}: {}, {}",
            known.candidate.title,
            known.fate.words(),
            known.task
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn candidate(title: &str, files: &[&str]) -> Candidate {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Candidate { title: title.to_owned(), files, category: None }
    }

    #[test]
    fn what_was_chosen_is_found_however_the_analyst_says_it() {
        let first = json!({"rank": 1, "title": "Test the parser", "files": ["src/parse.rs"]});
        let second = json!({"rank": 2, "description": "Name the magic numbers"});
        let list = json!([first, second]);
        let title = |payload: Value| Candidate::of(&payload).map(|candidate| candidate.title);
        assert_eq!(title(json!({"candidates": list})).as_deref(), Some("Test the parser"));
        assert_eq!(
            title(json!({"candidates": list, "selected": 2})).as_deref(),
            Some("Name the magic numbers")
        );
        assert_eq!(title(json!({"selected": second})).as_deref(), Some("Name the magic numbers"));
        assert_eq!(title(json!({"reason": "nothing"})), None);
        assert_eq!(title(json!({"candidates": [{"title": "  "}]})), None);
        let long = json!({"selected": {"title": "x".repeat(9_999), "files": vec!["y".repeat(999); 99]}});
        let bounded = Candidate::of(&long).unwrap();
        assert!(bounded.title.len() < 200 && bounded.files.len() == 20 && bounded.files[0].len() < 250);
    }

    #[test]
    fn the_same_idea_in_other_words_is_known_and_another_one_is_not() {
        let known = candidate("Add missing tests for the parser", &["src/parse.rs"]);
        for same in [
            candidate("add tests for parser", &[]),
            candidate("Parser: add a test", &["src/other.rs"]),
            candidate("Add unit tests of the parser", &["./src/parse.rs"]),
        ] {
            assert!(known.is_like(&same) && same.is_like(&known), "{same:?}");
        }
        for other in [
            candidate("Add tests for the lexer", &["src/lex.rs"]),
            candidate("Split the long function that reads numbers", &["src/parse.rs"]),
            candidate("", &[]),
        ] {
            assert!(!known.is_like(&other), "{other:?}");
        }
    }

    #[test]
    fn what_was_rejected_closed_failed_or_waits_is_refused_and_what_was_merged_is_not() {
        let earlier =
            |fate| [Proposal { task: TaskId(4), candidate: candidate("Test the parser", &["p.rs"]), fate }];
        let payload = json!({"selected": {"title": "Tests of the parser", "files": ["p.rs"]}});
        for fate in [Fate::Rejected, Fate::Closed, Fate::Failed, Fate::Open, Fate::Working] {
            let said = refusal(&earlier(fate), &payload).unwrap();
            assert!(said.contains("T-4") && said.contains(fate.words()), "{said}");
        }
        assert_eq!(refusal(&earlier(Fate::Merged), &payload), None);
        let another = json!({"selected": {"title": "Document the lexer"}});
        assert_eq!(refusal(&earlier(Fate::Rejected), &another), None);
        assert_eq!(refusal(&earlier(Fate::Rejected), &json!({"reason": "nothing found"})), None);
    }

    #[test]
    fn a_task_with_several_proposals_waits_for_people_once() {
        let one = |fate| Proposal { task: TaskId(4), candidate: candidate("x", &[]), fate };
        assert_eq!(open(&[one(Fate::Open), one(Fate::Open), one(Fate::Failed)]), 1);
    }
}
