//! `check = "tdd"`: the tests of the change fail by an assertion without the change and pass with it, every time. Tests
//! that passed before still pass.

use serde::{Deserialize, Serialize};

use super::{Check, Kind, Reproduced, Tests, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::ids::Name;
use crate::toml_reader::Table;

/// Default number of times that the tests must pass on the change.
const RUNS: u32 = 3;

/// Maximum of that setting, because each time runs the whole command.
const MOST_RUNS: u32 = 20;

/// Default paths of tests: where the runners of the common languages look for them.
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

/// Default paths that need no test.
pub(super) const EXEMPT: [&str; 6] = ["*.md", "*.txt", "*.rst", "docs/**", "LICENSE*", ".gitignore"];

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tdd {
    /// Command that prepares the tests, separate from running them, so that a compile error is not mistaken for a
    /// failing test.
    pub build: Option<Command>,
    /// Command that runs them.
    pub run: Command,
    /// Command that runs only the tests of the change, if acquit knows which these are. For questions that concern no
    /// other test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Command>,
    /// Where it writes the result of each test.
    pub report: Report,
    /// Paths of the tests. Inline test modules of Rust belong to them without a path.
    pub tests: Paths,
    /// Paths that need no test: a change that touches only these passes.
    pub exempt: Paths,
    /// Number of times that the tests must pass on the change.
    pub runs: u32,
    /// Which of the new tests must have failed without the change.
    pub red: Red,
    /// Which failures count besides assertions.
    pub weak: Weak,
    /// Whether tests are committed before the code.
    #[serde(default)]
    pub phases: Phases,
}

/// Whether the change commits its tests, with stubs, before the rest. The tests must then fail on that commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// Does not matter: the tests run on the base.
    #[default]
    Ignore,
    /// Such a commit counts if there is one.
    Allow,
    /// There must be such a commit.
    Require,
}

/// Which of the new tests must have failed without the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Red {
    /// All: a new test that passes without the change does not test it.
    Every,
    /// At least one; the verdict names those that never failed.
    Some,
}

/// Whether a test counts that reached no assertion without the change, because it uses something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weak {
    /// It counts if the change adds what is missing; the verdict says so.
    Allow,
    /// It does not count: tests and stubs must be committed first.
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
