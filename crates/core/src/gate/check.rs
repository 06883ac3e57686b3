//! The kinds of checks. Each is one file below `check/` with its settings and everything that acquit knows about it (`Kind`), and one
//! line in the table `kinds!`. What it does to the work is the file of the same name in `acquit-run`'s `gate` (a `Judge`).

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

/// Everything that acquit knows about one kind of check. Each kind implements it in its own file.
pub(crate) trait Kind: Sized {
    /// Its name in TOML: `check = "tdd"`.
    const WORD: &'static str;

    /// What it demands of the work, as the prompt tells the agent.
    const DEMAND: &'static str;

    /// What a passed gate of this kind has shown of a change, as `acquit prove` says it.
    const CLAIM: &'static str;

    /// Whether a gate of this kind can run at the same time as others.
    const PARALLEL: bool = false;

    /// Whether a gate of this kind can be narrowed to what changed files concern, by `related`.
    const NARROWS: bool = false;

    /// Whether the verdict depends on the task itself, so that it proves nothing about the same commit in another task.
    const PER_TASK: bool = false;

    /// Reads the settings. Mistakes are reported to the table; `None` if the check cannot be used.
    fn read(table: &mut Table<'_, '_>) -> Option<Self>;

    /// The command that it runs, if it runs one.
    fn command(&self) -> Option<&Command> {
        None
    }

    /// The command that prepares the tests, if there is one.
    fn build(&self) -> Option<&Command> {
        None
    }

    /// How the stage ends if the check fails, whatever its agent chose. Only a check of a review says so; the others judge work that an
    /// agent can mend.
    fn sets_outcome(&self) -> Option<&Name> {
        None
    }

    /// The check for a tree without a change. `None` if there is nothing to check then.
    fn on_base(&self) -> Option<Check> {
        None
    }

    /// The check for work that adds no behaviour, if that is another one.
    fn without_new_behavior(&self) -> Option<Check> {
        None
    }

    /// The same tests, asked to show a defect, and how much this kind knows of tests: 0 is most. `kind` is that of the gate.
    fn reproduced(&self, _kind: &Name) -> Option<(u8, Reproduced)> {
        None
    }

    /// The kind of failure and the settings of the gate that every project has, where a kind needs neither settings nor a command.
    fn built_in() -> Option<(&'static str, Self)> {
        None
    }
}

/// Makes the enum of all kinds and passes every question about a check on to its kind.
macro_rules! kinds {
    ($d:tt $($(#[$doc:meta])* $kind:ident($settings:ident),)+) => {
        /// What a gate checks.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Check {
            $($(#[$doc])* $kind($settings),)+
        }

        type Reader = fn(&mut Table<'_, '_>) -> Option<Check>;

        const READERS: &[(&str, Reader)] =
            &[$((<$settings as Kind>::WORD, |table| $settings::read(table).map(Check::$kind)),)+];

        /// The gates that every project has, each as its name, the kind of failure and the check.
        pub(crate) fn built_in() -> impl Iterator<Item = (&'static str, &'static str, Check)> {
            [$($settings::built_in().map(|(kind, check)| ($settings::WORD, kind, Check::$kind(check))),)+]
                .into_iter()
                .flatten()
        }

        impl Check {
            /// Its name in TOML.
            pub fn word(&self) -> &'static str {
                match self { $(Self::$kind(_) => $settings::WORD,)+ }
            }

            /// What it demands of the work, as the prompt tells the agent.
            pub fn demand(&self) -> &'static str {
                match self { $(Self::$kind(_) => $settings::DEMAND,)+ }
            }

            /// What a passed check has shown of a change.
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

impl Check {
    /// Reads the check of a gate and its settings. What is wrong is noted; `Err` if it is not even known which keys belong
    /// to it.
    pub(crate) fn read(table: &mut Table<'_, '_>) -> Result<Option<Self>, UnknownKind> {
        let read = match table.word("check", READERS) {
            Some(read) => read.value,
            None if table.has("check") => return Err(UnknownKind),
            None => return Ok(Plain::read(table).map(Self::Command)),
        };
        Ok(read(table))
    }

    /// The command that it runs, if it runs one.
    pub fn command(&self) -> Option<&Command> {
        each_check!(self, settings => settings.command())
    }

    /// The command that prepares the tests, if there is one.
    pub fn build(&self) -> Option<&Command> {
        each_check!(self, settings => settings.build())
    }

    /// How the stage ends if the check fails, whatever its agent chose: see `Kind::sets_outcome`.
    pub fn sets_outcome(&self) -> Option<&Name> {
        each_check!(self, settings => settings.sets_outcome())
    }

    /// The check for a tree without a change. `None` if there is nothing to check then.
    pub fn on_base(&self) -> Option<Self> {
        each_check!(self, settings => settings.on_base())
    }

    /// The check for work that adds no behaviour, if that is another one.
    pub(crate) fn without_new_behavior(&self) -> Option<Self> {
        each_check!(self, settings => settings.without_new_behavior())
    }

    /// The same tests, asked to show a defect: see `Kind::reproduced`.
    pub(crate) fn reproduced(&self, kind: &Name) -> Option<(u8, Reproduced)> {
        each_check!(self, settings => settings.reproduced(kind))
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

/// The word for the kind is none that is known; it is noted.
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
