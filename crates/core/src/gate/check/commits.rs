//! `check = "commits"`: the change's commits are as the project wants them.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::toml_reader::Table;

/// How long a subject may be if a gate does not say: what `git log --oneline` shows in a terminal.
const SUBJECT: u32 = 72;

/// A subject that is longer is a message.
const LONGEST_SUBJECT: u32 = 500;

/// What a conventional commit can be about, if a gate does not say.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Whether every message must name the task, in a line `Task: T-42`.
    pub task: Naming,
    /// Addresses that an author may have, with `*` for anything; none for any.
    pub authors: Vec<String>,
    /// How long a subject may be, in characters.
    pub max_subject: u32,
    /// How a subject is written.
    pub style: Style,
    /// What a conventional commit can be about.
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

/// How a subject is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// In any way.
    Any,
    /// `fix(parser): …`, after Conventional Commits.
    Conventional,
    /// `Fix …`: with a capital letter and without a full stop.
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
