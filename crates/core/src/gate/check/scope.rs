//! `check = "scope"`: the change is small and touches only what it may.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::gate::Paths;
use crate::toml_reader::Table;

/// Default maximum number of changed lines: what a person reads in one go.
const LINES: u32 = 500;

/// Maximum of any number in these settings.
const MOST: u32 = 1_000_000;

/// Maximum number of base commits to look at.
const MOST_COMMITS: u32 = 1_000;

/// Generated files, whose lines don't count as changed lines.
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
    /// Maximum number of added and removed lines together.
    pub max_lines: u32,
    /// Maximum number of changed files.
    pub max_files: Option<u32>,
    /// Paths that must not change.
    pub forbidden: Paths,
    /// Whether files that declare dependencies may change.
    pub dependencies: Dependencies,
    /// Number of newest base commits; files that they changed must not change again.
    pub recent: Option<u32>,
    /// Files whose lines don't count.
    pub uncounted: Paths,
}

/// Whether files that declare dependencies may change.
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
