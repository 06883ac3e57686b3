//! `check = "scope"`: the change is small, and stays where it may.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::gate::Paths;
use crate::toml_reader::Table;

/// How many lines may be changed if a gate says nothing: what a person reads in one go.
const LINES: u32 = 500;

/// The most of anything that can be counted here.
const MOST: u32 = 1_000_000;

/// The most commits of the base that are looked at.
const MOST_COMMITS: u32 = 1_000;

/// Files whose lines nobody wrote: they do not count as changed lines.
const UNCOUNTED: [&str; 12] = [
    "*.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "gradle.lockfile",
    "*.snap",
    "*.ambr",
    "*.golden",
    "**/__snapshots__/**",
    "*.min.js",
    "*.svg",
];

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Lines that may be added and removed, together.
    pub max_lines: u32,
    /// Files that may be changed.
    pub max_files: Option<u32>,
    /// Paths that may not be changed.
    pub forbidden: Paths,
    /// Whether files that say what the project depends on may be changed.
    pub dependencies: Dependencies,
    /// Files may not be changed that one of so many newest commits of the base changed.
    pub recent: Option<u32>,
    /// Files whose lines do not count.
    pub uncounted: Paths,
}

/// Whether files that say what the project depends on may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependencies {
    /// They may.
    Allow,
    /// They may not.
    Reject,
}

impl Kind for Scope {
    const WORD: &'static str = "scope";
    const DEMAND: &'static str = "it must be small and stay where it may";
    const CLAIM: &'static str = "it stays within its scope";
    const PER_TASK: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        const WORDS: [(&str, Dependencies); 2] =
            [("allow", Dependencies::Allow), ("reject", Dependencies::Reject)];
        runs_nothing(table);
        Some(Self {
            max_lines: table.positive("max_lines", MOST).unwrap_or(LINES),
            max_files: table.positive("max_files", MOST),
            forbidden: table.paths("forbidden").unwrap_or_default(),
            dependencies: table.word("dependencies", &WORDS).map_or(Dependencies::Allow, |word| word.value),
            recent: table.positive("recent", MOST_COMMITS),
            uncounted: table.paths("uncounted").unwrap_or_else(|| Paths::literal(&UNCOUNTED)),
        })
    }
}
