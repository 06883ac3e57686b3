//! `check = "coverage"`: the lines of the change are covered by tests.

use serde::{Deserialize, Serialize};

use super::{Kind, tdd::TESTS};
use super::{percent, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// Coverage of the changed lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// What runs the tests and counts.
    pub run: Command,
    /// Where it leaves what was covered.
    pub report: Report,
    /// How many of a hundred changed lines that can be covered must be.
    pub min: u32,
    /// Files that need no coverage: those of the tests, if a gate does not say.
    pub exempt: Paths,
}

impl Coverage {
    /// Files that need no coverage if a gate does not say.
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
