//! The kinds of checks, each with settings of its own: a file below `check/` has the settings and how they are read.
//!
//! To add one: a variant here, its word, a line in `read`, and a file with a struct and its `read`.

use serde::{Deserialize, Serialize};

use super::Command;
use crate::config::toml::Table;

mod commits;
mod coverage;
mod dilution;
mod mutation;
mod plain;
mod reproduced;
mod review;
mod scope;
mod secrets;
mod tdd;
mod tests;

pub use commits::{Commits, Naming, Style};
pub use coverage::Coverage;
pub use dilution::Dilution;
pub use mutation::Mutation;
pub use plain::Plain;
pub use reproduced::Reproduced;
pub use review::Review;
pub use scope::{Dependencies, Scope};
pub use secrets::Secrets;
pub use tdd::{Phases, Red, Tdd, Weak};
pub use tests::Tests;

/// What a gate checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A command that must end with code 0.
    Command(Plain),
    /// Tests, compared one by one with the base commit: only new failures count.
    Tests(Tests),
    /// The tests of the change fail without it and pass with it.
    Tdd(Tdd),
    /// The tests of the change show a defect: red by an assertion, on code that is as it was.
    Reproduced(Reproduced),
    /// The lines of the change are covered by tests.
    Coverage(Coverage),
    /// Mutants of the changed lines are caught by tests.
    Mutation(Mutation),
    /// No secret in any line that the change's commits add.
    Secrets(Secrets),
    /// The change is small and stays where it may.
    Scope(Scope),
    /// The change's commits are as the project wants them.
    Commits(Commits),
    /// No test is weaker than before.
    Dilution(Dilution),
    /// No critical finding in the review that was just made.
    Review(Review),
}

/// The kinds without their settings.
#[derive(Clone, Copy)]
enum Kind {
    Command,
    Tests,
    Tdd,
    Reproduced,
    Coverage,
    Mutation,
    Secrets,
    Scope,
    Commits,
    Dilution,
    Review,
}

const WORDS: [(&str, Kind); 11] = [
    ("command", Kind::Command),
    ("tests", Kind::Tests),
    ("tdd", Kind::Tdd),
    ("reproduced", Kind::Reproduced),
    ("coverage", Kind::Coverage),
    ("mutation", Kind::Mutation),
    ("secrets", Kind::Secrets),
    ("scope", Kind::Scope),
    ("commits", Kind::Commits),
    ("dilution", Kind::Dilution),
    ("review", Kind::Review),
];

impl Check {
    /// Reads the check of a gate and its settings. What is wrong is noted; `Err` if it is not even known which keys belong
    /// to it.
    pub(crate) fn read(table: &mut Table<'_, '_>) -> Result<Option<Self>, UnknownKind> {
        let kind = match table.word("check", &WORDS) {
            Some(kind) => kind.value,
            None if table.has("check") => return Err(UnknownKind),
            None => Kind::Command,
        };
        Ok(match kind {
            Kind::Command => Plain::read(table).map(Self::Command),
            Kind::Tests => Tests::read(table).map(Self::Tests),
            Kind::Tdd => Tdd::read(table).map(Self::Tdd),
            Kind::Reproduced => Reproduced::read(table).map(Self::Reproduced),
            Kind::Coverage => Coverage::read(table).map(Self::Coverage),
            Kind::Mutation => Mutation::read(table).map(Self::Mutation),
            Kind::Secrets => Some(Self::Secrets(Secrets::read(table))),
            Kind::Scope => Some(Self::Scope(Scope::read(table))),
            Kind::Commits => Some(Self::Commits(Commits::read(table))),
            Kind::Dilution => Some(Self::Dilution(Dilution::read(table))),
            Kind::Review => Some(Self::Review(Review::read(table))),
        })
    }

    /// The command that it runs, if it runs one.
    pub fn command(&self) -> Option<&Command> {
        match self {
            Self::Command(plain) => Some(&plain.run),
            Self::Tests(tests) => Some(&tests.run),
            Self::Tdd(tdd) => Some(&tdd.run),
            Self::Reproduced(reproduced) => Some(&reproduced.run),
            Self::Coverage(coverage) => Some(&coverage.run),
            Self::Mutation(mutation) => Some(&mutation.run),
            Self::Secrets(_) | Self::Scope(_) | Self::Commits(_) | Self::Dilution(_) | Self::Review(_) => {
                None
            }
        }
    }

    /// Its name in TOML.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Tests(_) => "tests",
            Self::Tdd(_) => "tdd",
            Self::Reproduced(_) => "reproduced",
            Self::Coverage(_) => "coverage",
            Self::Mutation(_) => "mutation",
            Self::Secrets(_) => "secrets",
            Self::Scope(_) => "scope",
            Self::Commits(_) => "commits",
            Self::Dilution(_) => "dilution",
            Self::Review(_) => "review",
        }
    }
}

impl std::fmt::Display for Check {
    /// What is run, or what is looked at.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.command() {
            Some(command) => command.fmt(f),
            None => write!(f, "{} of the change", self.word()),
        }
    }
}

/// The word for the check is none that is known; it is noted.
pub(crate) struct UnknownKind;

/// What most checks run. Notes it if it is missing.
fn run(table: &mut Table<'_, '_>, example: &str) -> Option<Command> {
    let run = table.value("run").and_then(|value| value.command());
    table.require("run", &format!("say what is run: run = \"{example}\""));
    run
}

/// What a share is demanded to be, if a gate does not say. All of it is never demanded: some lines cannot be reached and some
/// mutants change nothing.
const PERCENT: u32 = 80;

/// `min`, in percent.
fn percent(table: &mut Table<'_, '_>) -> u32 {
    table.value("min").and_then(|value| value.count(100)).unwrap_or(PERCENT)
}

/// Notes keys of commands in a check that runs none.
fn runs_nothing(table: &mut Table<'_, '_>) {
    table.refuse(&["run", "build", "report"], "this check looks at the change and runs nothing");
}
