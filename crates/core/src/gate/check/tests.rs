//! `check = "tests"`: tests, compared one by one with the exact base commit. Only new failures count. Flaky tests are
//! named and ignored.

use serde::{Deserialize, Serialize};

use super::{Check, Kind, Reproduced, Tdd, run};
use crate::gate::{Command, Format, Report};
use crate::ids::Name;
use crate::toml_reader::Table;

/// Default number of reruns that confirm a failure: a test that fails one time in ten fails twice in a row about once
/// in a hundred times.
const AGAIN: u32 = 2;

/// Maximum of that setting, because each rerun runs the whole command.
const MOST_AGAIN: u32 = 10;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// Command that prepares the tests. If it fails, the gate fails.
    pub build: Option<Command>,
    /// Command that runs them.
    pub run: Command,
    /// Command that runs only the tests of the change, if acquit knows which these are. For questions that concern no
    /// other test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Command>,
    /// Where it writes the result of each test.
    pub report: Report,
    /// Number of reruns that confirm a failure.
    pub again: u32,
}

impl Tests {
    /// Creates a check of the same tests that does not ask whether those of the change failed without it.
    pub fn of(tdd: &Tdd) -> Self {
        let (build, run, part) = (tdd.build.clone(), tdd.run.clone(), tdd.part.clone());
        Self { build, run, part, report: tdd.report.clone(), again: AGAIN }
    }
}

impl Kind for Tests {
    const WORD: &'static str = "tests";
    const DEMAND: &'static str = "no test may fail that passed before";
    const CLAIM: &'static str = "no test fails that passed before";
    const NARROWS: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let build = table.value("build").and_then(|value| value.command());
        let report = Report::read(table, &Format::OF_TESTS);
        table.require("report", "say where each test's result is: report = { junit = \"report.xml\" }");
        let again = table.value("again").map_or(Some(AGAIN), |value| value.count(MOST_AGAIN));
        let run = run(table, "cargo test --no-fail-fast");
        Some(Self { build, run: run?, part: None, report: report?, again: again? })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }

    fn build(&self) -> Option<&Command> {
        self.build.as_ref()
    }

    fn on_base(&self) -> Option<Check> {
        Some(Check::Tests(self.clone()))
    }

    fn reproduced(&self, _kind: &Name) -> Option<(u8, Reproduced)> {
        Some((1, Reproduced::of(self.build.as_ref(), &self.run, &self.report)))
    }
}
