//! `check = "coverage"`: tests cover the lines of the change.

use serde::{Deserialize, Serialize};

use super::{Kind, tdd::TESTS};
use super::{percent, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Command that runs the tests and measures coverage.
    pub run: Command,
    /// Where it writes the coverage report.
    pub report: Report,
    /// Minimum percentage of covered lines, of the changed lines that can be covered.
    pub min: u32,
    /// Files that need no coverage; by default those of the tests.
    pub exempt: Paths,
}

impl Coverage {
    /// Returns the default files that need no coverage.
    pub fn usual_exempt() -> Paths {
        Paths::literal(&TESTS)
    }
}

impl Kind for Coverage {
    const WORD: &'static str = "coverage";
    const DEMAND: &'static str = "the changed lines must be executed";
    const CLAIM: &'static str = "tests cover the changed lines";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let report = Report::read(table, &Format::OF_LINES);
        table.require("report", "say where the coverage is: report = { lcov = \"lcov.info\" }");
        let min = percent(table);
        let exempt = table.paths("exempt").unwrap_or_else(Self::usual_exempt);
        let run = run(table, "cargo llvm-cov --lcov --output-path lcov.info");
        Some(Self { run: run?, report: report?, min, exempt })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }
}
