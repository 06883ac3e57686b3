//! `check = "tdd"`: the tests of the change, without the change, fail by an assertion; with it they pass, every time; and what
//! passed before still does.

use serde::{Deserialize, Serialize};

use super::{Check, Kind, Reproduced, Tests, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::ids::Name;
use crate::toml_reader::Table;

/// How often the tests must pass on the change, if a gate does not say.
const RUNS: u32 = 3;

/// The most: each is a run of the whole command.
const MOST_RUNS: u32 = 20;

/// What belongs to the tests if a gate does not say: where the runners of the common languages look for them.
pub(crate) const TESTS: [&str; 26] = [
    "tests/**",
    "**/tests/**",
    "test/**",
    "**/test/**",
    "**/__tests__/**",
    "**/__snapshots__/**",
    "**/testdata/**",
    "**/fixtures/**",
    "src/test/**",
    "**/src/test/**",
    "tests.rs",
    "*_test.rs",
    "*_tests.rs",
    "*.test.*",
    "*.spec.*",
    "*-test.js",
    "*-test.mjs",
    "*_test.js",
    "test_*.py",
    "*_test.py",
    "tests.py",
    "conftest.py",
    "*_test.go",
    "*Test.java",
    "*Tests.java",
    "*IT.java",
];

/// What needs no test if a gate does not say.
pub(super) const EXEMPT: [&str; 6] = ["*.md", "*.txt", "*.rst", "docs/**", "LICENSE*", ".gitignore"];

/// How a change is shown to be tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tdd {
    /// What makes the tests ready to be run, apart from running them, so that what does not compile is not taken for a test
    /// that fails.
    pub build: Option<Command>,
    /// What runs them.
    pub run: Command,
    /// Runs only the tests of the change, if a judgement knows which these are. For what concerns no other test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Command>,
    /// Where it leaves how each test ended.
    pub report: Report,
    /// The paths that belong to the tests. Inline test modules of Rust do by themselves.
    pub tests: Paths,
    /// The paths that need no test: a change of nothing else passes.
    pub exempt: Paths,
    /// How often the tests must pass on the change.
    pub runs: u32,
    /// Which of the new tests must have been red.
    pub red: Red,
    /// What counts besides an assertion.
    pub weak: Weak,
    /// Whether tests are committed before the code.
    #[serde(default)]
    pub phases: Phases,
}

/// Whether the tests of a change, with stubs, are committed before the rest of it; that commit is then where they must be red.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// It does not matter: the tests are put on the base.
    #[default]
    Ignore,
    /// If there is such a commit it counts.
    Allow,
    /// There must be one.
    Require,
}

/// Which of the new tests must have been red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Red {
    /// All of them: a new test that passes without the change does not test it.
    Every,
    /// One at least; those that never were are named.
    Some,
}

/// Whether tests count that did not come to an assertion without the change, because what they use is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weak {
    /// They do, if what is missing is something that the change adds; the verdict says so.
    Allow,
    /// They do not: tests and stubs come first.
    Reject,
}

impl Kind for Tdd {
    const WORD: &'static str = "tdd";
    const DEMAND: &'static str =
        "your tests must fail without your change, by an assertion, and pass with it";
    const CLAIM: &'static str = "its tests fail without it and pass with it";
    const NARROWS: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        const REDS: [(&str, Red); 2] = [("every", Red::Every), ("some", Red::Some)];
        const PHASES: [(&str, Phases); 3] =
            [("ignore", Phases::Ignore), ("allow", Phases::Allow), ("require", Phases::Require)];
        const WEAKS: [(&str, Weak); 2] = [("allow", Weak::Allow), ("reject", Weak::Reject)];
        let build = table.value("build").and_then(|value| value.command());
        let report = Report::read(table, &Format::OF_TESTS);
        table.require("report", "say where each test's result is: report = { junit = \"report.xml\" }");
        let tests = table.paths("tests").unwrap_or_else(|| Paths::literal(&TESTS));
        let exempt = table.paths("exempt").unwrap_or_else(|| Paths::literal(&EXEMPT));
        let runs = table.positive("runs", MOST_RUNS).unwrap_or(RUNS);
        let red = table.word("red", &REDS).map_or(Red::Some, |red| red.value);
        let weak = table.word("weak", &WEAKS).map_or(Weak::Allow, |weak| weak.value);
        let phases = table.word("phases", &PHASES).map(|phases| phases.value).unwrap_or_default();
        let run = run(table, "cargo test --no-fail-fast");
        Some(Self { build, run: run?, part: None, report: report?, tests, exempt, runs, red, weak, phases })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }

    fn build(&self) -> Option<&Command> {
        self.build.as_ref()
    }

    fn on_base(&self) -> Option<Check> {
        Some(Check::Tests(Tests::of(self)))
    }

    fn without_new_behavior(&self) -> Option<Check> {
        Some(Check::Tests(Tests::of(self)))
    }

    fn reproduced(&self, _kind: &Name) -> Option<(u8, Reproduced)> {
        let (tests, exempt) = (self.tests.clone(), self.exempt.clone());
        Some((
            0,
            Reproduced { tests, exempt, ..Reproduced::of(self.build.as_ref(), &self.run, &self.report) },
        ))
    }
}
