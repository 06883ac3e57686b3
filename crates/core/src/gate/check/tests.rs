//! `check = "tests"`: tests, compared one by one with the exact base commit. Only new failures count, and a test that changes
//! its mind is named and has no say.

use serde::{Deserialize, Serialize};

use super::{Check, Kind, Reproduced, Tdd, run};
use crate::gate::{Command, Format, Report};
use crate::ids::Name;
use crate::toml_reader::Table;

/// How often a failure is tried again before it is believed, if a gate does not say: one flaky test in ten fails twice in a
/// row about once in a hundred times.
const AGAIN: u32 = 2;

/// The most: each is a run of the whole command.
const MOST_AGAIN: u32 = 10;

/// Tests that are compared with the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// What makes the tests ready to be run. Its failure is a failure of the gate.
    pub build: Option<Command>,
    /// What runs them.
    pub run: Command,
    /// Runs only the tests of the change, if a judgement knows which these are. For what concerns no other test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Command>,
    /// Where it leaves how each test ended.
    pub report: Report,
    /// How often a failure is tried again before it is believed.
    pub again: u32,
}

impl Tests {
    /// The same tests, without the question whether those of the change were red.
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
