//! The kinds of checks. Each has one file below `check/` with its settings and the facts about it (`Kind`), and one
//! line in the table `kinds!`. The file of the same name in `acquit-run`'s `gate` runs it (a `Judge`).

use serde::{Deserialize, Serialize};

use super::Command;
use crate::ids::Name;
use crate::toml_reader::Table;

mod commits;
mod coverage;
pub(crate) mod dilution;
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
pub(crate) use tdd::TESTS;
pub use tdd::{Phases, Red, Tdd, Weak};
pub use tests::Tests;

/// The facts about one kind of check. Each kind implements this in its own file.
pub(crate) trait Kind: Sized {
    /// Name in TOML: `check = "tdd"`.
    const WORD: &'static str;

    /// What it demands of the work, in the agent's prompt.
    const DEMAND: &'static str;

    /// What a passed gate of this kind proves about a change, in the report of `acquit prove`.
    const CLAIM: &'static str;

    /// Whether gates of this kind can run in parallel with others.
    const PARALLEL: bool = false;

    /// Whether `related` can narrow a gate of this kind to the files of a change.
    const NARROWS: bool = false;

    /// Whether the verdict depends on the task, so that it is not valid for the same commit in another task.
    const PER_TASK: bool = false;

    /// Reads the settings and reports mistakes to the table. Returns `None` if the check cannot be used.
    fn read(table: &mut Table<'_, '_>) -> Option<Self>;

    /// Returns the command that it runs, if any.
    fn command(&self) -> Option<&Command> {
        None
    }

    /// Returns the command that prepares the tests, if any.
    fn build(&self) -> Option<&Command> {
        None
    }

    /// Returns the outcome of the stage if the check fails, whatever its agent chose. Only checks of a review have one;
    /// other checks judge work that an agent can fix.
    fn sets_outcome(&self) -> Option<&Name> {
        None
    }

    /// Returns the check for a tree without a change; `None` if there is nothing to check.
    fn on_base(&self) -> Option<Check> {
        None
    }

    /// Returns the check for work that adds no behaviour, if it differs.
    fn without_new_behavior(&self) -> Option<Check> {
        None
    }

    /// Returns a check that the same tests reproduce a defect, with a rank of how much this kind knows about tests: 0
    /// is the most. `kind` is that of the gate.
    fn reproduced(&self, _kind: &Name) -> Option<(u8, Reproduced)> {
        None
    }

    /// Returns failure kind and settings of the gate that every project has, for kinds that need neither settings nor a
    /// command.
    fn built_in() -> Option<(&'static str, Self)> {
        None
    }
}

/// Defines the enum of all kinds and forwards every method to the kind.
macro_rules! kinds {
    ($d:tt $($(#[$doc:meta])* $kind:ident($settings:ident),)+) => {
        /// The check of a gate.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Check {
            $($(#[$doc])* $kind($settings),)+
        }

        type Reader = fn(&mut Table<'_, '_>) -> Option<Check>;

        const READERS: &[(&str, Reader)] =
            &[$((<$settings as Kind>::WORD, |table| $settings::read(table).map(Check::$kind)),)+];

        /// Returns the gates that every project has: name, kind of failure and check.
        pub(crate) fn built_in() -> impl Iterator<Item = (&'static str, &'static str, Check)> {
            [$($settings::built_in().map(|(kind, check)| ($settings::WORD, kind, Check::$kind(check))),)+]
                .into_iter()
                .flatten()
        }

        impl Check {
            /// Returns the name in TOML.
            pub fn word(&self) -> &'static str {
                match self { $(Self::$kind(_) => $settings::WORD,)+ }
            }

            /// Returns what it demands of the work, for the agent's prompt.
            pub fn demand(&self) -> &'static str {
                match self { $(Self::$kind(_) => $settings::DEMAND,)+ }
            }

            /// Returns what a passed check proves about a change.
            pub fn claim(&self) -> &'static str {
                match self { $(Self::$kind(_) => $settings::CLAIM,)+ }
            }

            /// See `Kind::PARALLEL`.
            pub fn is_parallel(&self) -> bool {
                match self { $(Self::$kind(_) => $settings::PARALLEL,)+ }
            }

            /// See `Kind::NARROWS`.
            pub fn narrows(&self) -> bool {
                match self { $(Self::$kind(_) => $settings::NARROWS,)+ }
            }

            /// See `Kind::PER_TASK`.
            pub fn is_per_task(&self) -> bool {
                match self { $(Self::$kind(_) => $settings::PER_TASK,)+ }
            }
        }

        /// Evaluates an expression with the settings of a check, whatever its kind: `each_check!(check, settings => settings.command())`.
        #[macro_export]
        macro_rules! each_check {
            ($d check:expr, $d settings:ident => $d body:expr) => {
                match $d check {
                    $($crate::gate::Check::$kind($d settings) => $d body,)+
                }
            };
        }
    };
}

kinds! { $
    /// A command that must exit with code 0.
    Command(Plain),
    /// Tests, compared one by one with the base commit; only new failures count.
    Tests(Tests),
    /// The tests of the change fail without it and pass with it.
    Tdd(Tdd),
    /// The tests of the change reproduce a defect: they fail by an assertion on unchanged code.
    Reproduced(Reproduced),
    /// Tests cover the lines of the change.
    Coverage(Coverage),
    /// Tests catch mutants of the changed lines.
    Mutation(Mutation),
    /// The change's commits add no secret.
    Secrets(Secrets),
    /// The change is small and touches only what it may.
    Scope(Scope),
    /// The change's commits follow the project's rules.
    Commits(Commits),
    /// No test is weakened.
    Dilution(Dilution),
    /// The latest review has no critical finding.
    Review(Review),
}

impl Check {
    /// Reads the check of a gate and its settings. Reports mistakes; returns `Err` if the kind is unknown, and with it
    /// the valid keys.
    pub(crate) fn read(table: &mut Table<'_, '_>) -> Result<Option<Self>, UnknownKind> {
        let read = match table.word("check", READERS) {
            Some(read) => read.value,
            None if table.has("check") => return Err(UnknownKind),
            None => return Ok(Plain::read(table).map(Self::Command)),
        };
        Ok(read(table))
    }

    /// Returns the command that it runs, if any.
    pub fn command(&self) -> Option<&Command> {
        each_check!(self, settings => settings.command())
    }

    /// Returns the command that prepares the tests, if any.
    pub fn build(&self) -> Option<&Command> {
        each_check!(self, settings => settings.build())
    }

    /// Returns the outcome of the stage if the check fails: see `Kind::sets_outcome`.
    pub fn sets_outcome(&self) -> Option<&Name> {
        each_check!(self, settings => settings.sets_outcome())
    }

    /// Returns the check for a tree without a change; `None` if there is nothing to check.
    pub fn on_base(&self) -> Option<Self> {
        each_check!(self, settings => settings.on_base())
    }

    /// Returns the check for work that adds no behaviour, if it differs.
    pub(crate) fn without_new_behavior(&self) -> Option<Self> {
        each_check!(self, settings => settings.without_new_behavior())
    }

    /// Returns a check that the same tests reproduce a defect: see `Kind::reproduced`.
    pub(crate) fn reproduced(&self, kind: &Name) -> Option<(u8, Reproduced)> {
        each_check!(self, settings => settings.reproduced(kind))
    }
}

impl std::fmt::Display for Check {
    /// Formats the command, or a description of the check.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.command() {
            Some(command) => command.fmt(f),
            None => write!(f, "{} of the change", self.word()),
        }
    }
}

/// The name of the kind is unknown; this has been reported.
pub(crate) struct UnknownKind;

/// Reads `run`, which most checks need. Reports it if it is missing.
fn run(table: &mut Table<'_, '_>, example: &str) -> Option<Command> {
    let run = table.value("run").and_then(|value| value.command());
    table.require("run", &format!("say what is run: run = \"{example}\""));
    run
}

/// Default minimum percentage. It is below 100, because some lines cannot be reached and some mutants change nothing.
const PERCENT: u32 = 80;

/// Reads `min`, in percent.
fn percent(table: &mut Table<'_, '_>) -> u32 {
    table.value("min").and_then(|value| value.count(100)).unwrap_or(PERCENT)
}

/// Reports command keys in a check without a command.
fn runs_nothing(table: &mut Table<'_, '_>) {
    table.refuse(&["run", "build", "report"], "this check looks at the change and runs nothing");
}
