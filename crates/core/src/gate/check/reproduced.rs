//! `check = "reproduced"`: the tests of the change show a defect. They fail by an assertion, on code that is as it was.
//!
//! It is what a stage stands that writes a failing test and mends nothing. Of a command without a report only its exit code is
//! known: it must have passed on the base.

use serde::{Deserialize, Serialize};

use super::{Kind, run, tdd};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// How a defect is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduced {
    /// What makes the tests ready to be run, apart from running them: what does not compile shows nothing.
    pub build: Option<Command>,
    /// What runs them.
    pub run: Command,
    /// Where it leaves how each test ended; without it the exit code alone speaks.
    pub report: Option<Report>,
    /// The paths that belong to the tests, which alone may change. Inline test modules of Rust do by themselves.
    pub tests: Paths,
    /// The paths that may change besides.
    pub exempt: Paths,
}

impl Reproduced {
    /// The same tests as those of another check, asked for the opposite.
    pub(super) fn of(build: Option<&Command>, run: &Command, report: &Report) -> Self {
        Self {
            build: build.cloned(),
            run: run.clone(),
            report: Some(report.clone()),
            tests: Paths::literal(&tdd::TESTS),
            exempt: Paths::literal(&tdd::EXEMPT),
        }
    }
}

impl Kind for Reproduced {
    const WORD: &'static str = "reproduced";
    const DEMAND: &'static str = "a test of yours must fail now, by an assertion; only tests may change";
    const CLAIM: &'static str = "its tests reproduce the defect";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let build = table.value("build").and_then(|value| value.command());
        let report = Report::read(table, &Format::OF_TESTS);
        let tests = table.paths("tests").unwrap_or_else(|| Paths::literal(&tdd::TESTS));
        let exempt = table.paths("exempt").unwrap_or_else(|| Paths::literal(&tdd::EXEMPT));
        let run = run(table, "cargo test --no-fail-fast");
        Some(Self { build, run: run?, report, tests, exempt })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }

    fn build(&self) -> Option<&Command> {
        self.build.as_ref()
    }
}
