//! How each test ended, read from the report of a runner.
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

/// The largest report that is read: ten times that of the largest suites.
pub const LARGEST: u64 = 64 << 20;

/// The most tests that are read from reports together.
const MOST_CASES: usize = 200_000;

/// How much is kept of a name. Generated names of parameters are long, and still differ at their beginning.
const LONGEST_NAME: usize = 400;

/// How much is kept of what a test says when it fails.
const LONGEST_MESSAGE: usize = 1_500;

/// What a runner reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The tests, by what they are called.
    #[serde(with = "as_list")]
    pub tests: BTreeMap<TestId, Case>,
    /// What could not even be loaded, so that none of its tests is among the others.
    pub broken: Vec<Broken>,
    /// The tests that failed and then passed within the run, because the runner tries again by itself.
    #[serde(default)]
    pub flaky: BTreeSet<TestId>,
    /// Whether there was more than is read.
    pub cut: bool,
    /// Why the report cannot be believed: it contradicts itself, or what the runner said elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What a test is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestId {
    /// The suite, file, class or package.
    pub suite: String,
    /// Its name there.
    pub name: String,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// How.
    pub outcome: Outcome,
    /// What it said, if it did not pass.
    pub message: String,
    /// Where it failed, as the report names it: not yet known to be a file of the repository.
    pub location: Option<Location>,
    /// The source lines that were active when it failed, innermost first, as the report names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Location>,
    /// The innermost line of the code under test that was active, if [`Results::locate`] found one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Location>,
}

/// What a source line of a stack trace belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The repository's code under test.
    Code,
    /// The repository's tests.
    Test,
    /// Anything else: a library, the runner.
    Foreign,
}

/// The ways to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was not run.
    Skipped,
    /// What it says holds.
    Passed,
    /// What it says does not hold: an assertion failed.
    Failed,
    /// It did not come to say anything: something it uses is missing, or broke.
    Error,
}

/// A file, package or suite that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// Which, as the runner calls it.
    pub what: String,
    /// Why.
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
    /// Whether it is red.
    pub fn is_red(self) -> bool {
        match self {
            Self::Failed | Self::Error => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

impl Results {
    /// Adds what a report of that format says. Formats that do not tell of tests add nothing.
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

    /// How many tests were run.
    pub fn executed(&self) -> usize {
        self.tests.values().filter(|case| case.outcome != Outcome::Skipped).count()
    }

    /// The tests that are red.
    pub fn red(&self) -> impl Iterator<Item = (&TestId, &Case)> {
        self.tests.iter().filter(|(_, case)| case.outcome.is_red())
    }

    /// Finds out which failures were raised while code under test was active. A failure is raised in the code if a line of the
    /// code is further in than the outermost line of a test: what runs the tests can be code of the repository, too.
    pub fn locate(&mut self, origin: impl Fn(&Location) -> Option<(Origin, Location)>) {
        for case in self.tests.values_mut().filter(|case| case.outcome.is_red()) {
            let known: Vec<(Origin, Location)> = case.frames.iter().filter_map(&origin).collect();
            let tests = known.iter().rposition(|(origin, _)| *origin == Origin::Test).unwrap_or(known.len());
            let code = known.into_iter().take(tests).find(|(origin, _)| *origin == Origin::Code);
            case.raised = code.map(|(_, place)| place);
        }
    }

    /// Takes the panics of Rust that a test raises itself for failed assertions. `is_test` knows the lines of tests, also of those that
    /// stand in a file of code.
    pub fn assert_panics(&mut self, is_test: impl Fn(&Location) -> bool) {
        for case in self.tests.values_mut().filter(|case| case.outcome == Outcome::Error) {
            let is_written = kind::panic(&case.message).is_some_and(|(_, said)| kind::is_written(said));
            if is_written && frames::frames(&case.message).first().is_some_and(&is_test) {
                case.outcome = Outcome::Failed;
            }
        }
    }

    /// Adds a test. Where a name is there twice, the worst end counts: a loop over values is one test with many endings.
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

    /// Notes why the report cannot be believed. A few reasons are enough.
    fn doubt(&mut self, why: String) {
        const MOST: usize = 5;
        if self.doubts.len() < MOST {
            self.doubts.push(shorten(&why, LONGEST_NAME));
        }
    }

    /// Holds what the runner printed against what its report says: pytest ends with a count of how its tests ended.
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
        // Tests of the same name are one here, so there can be fewer in the report.
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

    /// One that ended so and said this, with nothing known about where.
    pub fn plain(outcome: Outcome, message: &str) -> Self {
        let message = shorten(message.trim(), LONGEST_MESSAGE);
        Self { outcome, message, location: None, frames: Vec::new(), raised: None }
    }

    fn skipped(why: &str) -> Self {
        Self::plain(Outcome::Skipped, why)
    }

    /// One that is red, by what it said.
    fn red(outcome: Outcome, message: &str) -> Self {
        let (location, frames) = (kind::location(message), frames::frames(message));
        Self { location, frames, ..Self::plain(outcome, message) }
    }
}

/// A map whose keys are no strings, as a list of pairs.
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
