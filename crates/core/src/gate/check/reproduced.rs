//! `check = "reproduced"`: the tests of the change reproduce a defect. They fail by an assertion on unchanged code.
//!
//! It judges a stage that writes a failing test and fixes nothing. A command without a report has only an exit code; it
//! must have passed on the base.

use serde::{Deserialize, Serialize};

use super::{Kind, run, tdd};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduced {
    /// Command that prepares the tests, separate from running them: a compile error proves nothing.
    pub build: Option<Command>,
    /// Command that runs them.
    pub run: Command,
    /// Where it writes the result of each test; without a report only the exit code counts.
    pub report: Option<Report>,
    /// Paths of the tests, the only ones that may change. Inline test modules of Rust belong to them without a path.
    pub tests: Paths,
    /// Other paths that may change.
    pub exempt: Paths,
}

impl Reproduced {
    /// Creates the opposite check from the settings of another one.
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
