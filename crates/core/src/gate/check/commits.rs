//! `check = "commits"`: the change's commits follow the project's rules.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::toml_reader::Table;

/// Default maximum length of a subject: what `git log --oneline` shows in a terminal.
const SUBJECT: u32 = 72;

/// Maximum of that setting. A longer subject is a whole message.
const LONGEST_SUBJECT: u32 = 500;

/// Default types of conventional commits.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Whether every message must name the task in a line `Task: T-42`.
    pub task: Naming,
    /// Allowed author addresses, with `*` as a wildcard; empty allows any.
    pub authors: Vec<String>,
    /// Maximum length of a subject, in characters.
    pub max_subject: u32,
    /// Style of subjects.
    pub style: Style,
    /// Allowed types of conventional commits.
    pub types: Vec<String>,
}

/// Whether every message must name the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// It must.
    Require,
    /// It need not.
    Ignore,
}

/// The style of subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Any style.
    Any,
    /// Conventional Commits: `fix(parser): …`.
    Conventional,
    /// Sentence case without a period: `Fix …`.
    Sentence,
}

impl Kind for Commits {
    const WORD: &'static str = "commits";
    const DEMAND: &'static str = "commits must be as the project wants them";
    const CLAIM: &'static str = "its commits follow the project's rules";
    const PER_TASK: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        const NAMINGS: [(&str, Naming); 2] = [("require", Naming::Require), ("ignore", Naming::Ignore)];
        const STYLES: [(&str, Style); 3] =
            [("any", Style::Any), ("conventional", Style::Conventional), ("sentence", Style::Sentence)];
        runs_nothing(table);
        let texts =
            |list: Vec<crate::toml_reader::At<String>>| list.into_iter().map(|item| item.value).collect();
        Some(Self {
            task: table.word("task", &NAMINGS).map_or(Naming::Require, |word| word.value),
            authors: table.strings("authors").map(texts).unwrap_or_default(),
            max_subject: table.positive("max_subject", LONGEST_SUBJECT).unwrap_or(SUBJECT),
            style: table.word("style", &STYLES).map_or(Style::Any, |word| word.value),
            types: table
                .strings("types")
                .map_or_else(|| TYPES.iter().map(ToString::to_string).collect(), texts),
        })
    }
}
