//! Reads the result of each test from the report of a runner.
//!
//! Reports come from programs that run the code of a hostile change. So the readers limit size, number and depth, never
//! panic, and treat what they cannot parse as missing. A report can be wrong about a test; the harness adds what a
//! report cannot forge: that the file is new, and that it agrees with the exit code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::agent::shorten;
use crate::failure::Location;
use crate::gate::Format;
use crate::pattern::pattern;

mod frames;
mod gotest;
mod junit;
mod kind;
mod libtest;
mod merge;
pub mod sarif;
pub(crate) mod xml;

pub use merge::{Known, Merged};

/// Maximum size of a report: ten times that of the largest suites.
pub const LARGEST: u64 = 64 << 20;

/// Maximum total number of tests to read.
const MOST_CASES: usize = 200_000;

/// Maximum length of a name. Generated names with parameters are long, and still differ at their start.
const LONGEST_NAME: usize = 400;

/// Maximum length of a failure message.
const LONGEST_MESSAGE: usize = 1_500;

/// The results that a runner reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Tests by id.
    #[serde(with = "as_list")]
    pub tests: BTreeMap<TestId, Case>,
    /// Files, packages or suites that could not be loaded, so that their tests are missing.
    pub broken: Vec<Broken>,
    /// Tests that failed and then passed within the run, because the runner retries.
    #[serde(default)]
    pub flaky: BTreeSet<TestId>,
    /// Whether a limit cut off the report.
    pub cut: bool,
    /// Why the report is not credible: it contradicts itself or other output of the runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// The id of a test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestId {
    /// Suite, file, class or package.
    pub suite: String,
    /// Name in it.
    pub name: String,
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Outcome.
    pub outcome: Outcome,
    /// Message, if it did not pass.
    pub message: String,
    /// Location of the failure, as in the report. It may not be a file of the repository.
    pub location: Option<Location>,
    /// Source lines on the stack when it failed, innermost first, as in the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Location>,
    /// Innermost line of the code under test on the stack, if [`Results::locate`] found one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Location>,
}

/// The origin of a stack frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The repository's code under test.
    Code,
    /// The repository's tests.
    Test,
    /// Anything else: a library, the runner.
    Foreign,
}

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did not run.
    Skipped,
    /// It passed.
    Passed,
    /// An assertion failed.
    Failed,
    /// It reached no assertion: something it uses is missing or broke.
    Error,
}

/// A file, package or suite that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// Its name in the report.
    pub what: String,
    /// Error message.
    pub message: String,
}

impl std::fmt::Display for TestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.suite.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{} › {}", self.suite, self.name)
        }
    }
}

impl TestId {
    fn new(suite: &str, name: &str) -> Self {
        Self { suite: shorten(suite.trim(), LONGEST_NAME), name: shorten(name.trim(), LONGEST_NAME) }
    }
}

impl Outcome {
    /// Returns whether it is a failure or an error.
    pub fn is_red(self) -> bool {
        match self {
            Self::Failed | Self::Error => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

impl Results {
    /// Adds a report of this format. Formats without tests add nothing.
    pub fn read(&mut self, format: Format, text: &str) {
        match format {
            Format::Junit => junit::read(text, self),
            Format::Libtest => libtest::read(text, self),
            Format::GoTest => gotest::read(text, self),
            Format::Sarif
            | Format::Lcov
            | Format::Cobertura
            | Format::Jacoco
            | Format::GoCover
            | Format::Mutation => {}
        }
    }

    /// Returns the number of tests that ran.
    pub fn executed(&self) -> usize {
        self.tests.values().filter(|case| case.outcome != Outcome::Skipped).count()
    }

    /// Returns the tests that failed or broke.
    pub fn red(&self) -> impl Iterator<Item = (&TestId, &Case)> {
        self.tests.iter().filter(|(_, case)| case.outcome.is_red())
    }

    /// Finds the failures that were raised while code under test was active. That is so if a line of the code is
    /// further in than the outermost line of a test, because code of the repository may also run the tests.
    pub fn locate(&mut self, origin: impl Fn(&Location) -> Option<(Origin, Location)>) {
        for case in self.tests.values_mut().filter(|case| case.outcome.is_red()) {
            let known: Vec<(Origin, Location)> = case.frames.iter().filter_map(&origin).collect();
            let tests = known.iter().rposition(|(origin, _)| *origin == Origin::Test).unwrap_or(known.len());
            let code = known.into_iter().take(tests).find(|(origin, _)| *origin == Origin::Code);
            case.raised = code.map(|(_, place)| place);
        }
    }

    /// Counts Rust panics that a test itself raises as failed assertions. `is_test` recognizes lines of tests, also in
    /// code files.
    pub fn assert_panics(&mut self, is_test: impl Fn(&Location) -> bool) {
        for case in self.tests.values_mut().filter(|case| case.outcome == Outcome::Error) {
            let is_written = kind::panic(&case.message).is_some_and(|(_, said)| kind::is_written(said));
            if is_written && frames::frames(&case.message).first().is_some_and(&is_test) {
                case.outcome = Outcome::Failed;
            }
        }
    }

    /// Adds a test. If a name occurs twice, the worst outcome counts: a loop over values is one test with several
    /// outcomes.
    fn add(&mut self, id: TestId, case: Case) {
        if self.tests.len() >= MOST_CASES {
            self.cut = true;
            return;
        }
        match self.tests.get(&id) {
            Some(known) if known.outcome >= case.outcome => {}
            Some(_) | None => drop(self.tests.insert(id, case)),
        }
    }

    /// Records why the report is not credible. A few reasons are enough.
    fn doubt(&mut self, why: String) {
        const MOST: usize = 5;
        if self.doubts.len() < MOST {
            self.doubts.push(shorten(&why, LONGEST_NAME));
        }
    }

    /// Compares the report with the printed output: pytest ends with counts of its tests' outcomes.
    pub fn agree_with(&mut self, printed: &str) {
        static PYTEST: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"(?m)^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?$")
        });
        let Some(summary) = PYTEST.captures_iter(printed).last() else { return };
        let mut said: BTreeMap<&str, usize> = BTreeMap::new();
        for part in summary[1].split(", ") {
            if let Some((number, word)) = part.split_once(' ') {
                said.insert(word, number.parse().unwrap_or(0));
            }
        }
        let failed = said.get("failed").copied().unwrap_or(0);
        let reported = self.red().count();
        if failed > 0 && reported == 0 && self.broken.is_empty() {
            self.doubt(format!("the runner printed that {failed} tests failed, and the report has none"));
        }
        let passed = said.get("passed").copied().unwrap_or(0);
        let fine = self.tests.values().filter(|case| case.outcome == Outcome::Passed).count();
        // Tests of the same name are merged, so the report can have fewer.
        if fine > passed + said.get("xpassed").copied().unwrap_or(0) {
            self.doubt(format!("the runner printed that {passed} tests passed, and the report has {fine}"));
        }
    }

    fn add_broken(&mut self, what: &str, message: &str) {
        if self.broken.len() >= MOST_CASES {
            self.cut = true;
            return;
        }
        let what = shorten(what.trim(), LONGEST_NAME);
        self.broken.push(Broken { what, message: shorten(message.trim(), LONGEST_MESSAGE) });
    }
}

impl Case {
    fn passed() -> Self {
        Self::plain(Outcome::Passed, "")
    }

    /// Creates a case with this outcome and message and no location.
    pub fn plain(outcome: Outcome, message: &str) -> Self {
        let message = shorten(message.trim(), LONGEST_MESSAGE);
        Self { outcome, message, location: None, frames: Vec::new(), raised: None }
    }

    fn skipped(why: &str) -> Self {
        Self::plain(Outcome::Skipped, why)
    }

    /// Creates a failed case from its message.
    fn red(outcome: Outcome, message: &str) -> Self {
        let (location, frames) = (kind::location(message), frames::frames(message));
        Self { location, frames, ..Self::plain(outcome, message) }
    }
}

/// A map with non-string keys as a list of pairs.
mod as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Case, TestId};

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<TestId, Case>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<BTreeMap<TestId, Case>, D::Error> {
        Ok(Vec::<(TestId, Case)>::deserialize(from)?.into_iter().collect())
    }
}
