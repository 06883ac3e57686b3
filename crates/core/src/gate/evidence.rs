//! Counts and findings of a gate, bounded. They are stored with the event, shown to people and given to the agent that
//! fixes.

use serde::{Deserialize, Serialize};

use super::complaints::Complaint;
use crate::agent::shorten;
use crate::failure::Location;

/// Maximum number of findings. Who fixes these fixes most of the rest, and the gate runs again anyway.
const MOST_FINDINGS: usize = 50;

/// Maximum number of figures. More would be a table.
const MOST_FIGURES: usize = 30;

/// Maximum number of named tests that turned from red to green. People read some of them, and a figure counts them all.
const MOST_RED: usize = 50;

/// Maximum length of such a name: longer than any that a person wrote.
const LONGEST_NAME: usize = 200;

/// Maximum length of a finding's text. It describes the problem; the whole output is kept elsewhere.
const LONGEST: usize = 600;

/// The evidence behind a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Figures, in reading order.
    pub figures: Vec<Figure>,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Number of omitted findings.
    pub more: u32,
    /// Names of the first tests that failed by an assertion without the change and pass with it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red: Vec<String>,
    /// Tests of the change, each without the change and with it: the first of them, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRuns>,
    /// Complaints of a failed command, to compare with those on the base; only for changes that are judged without an
    /// agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complaints: Vec<Complaint>,
}

/// A test of the change in its runs without the change and with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRuns {
    /// Name of the test.
    pub test: String,
    /// What it shows, by the rule that findings name: `assert-red`, `never-red`.
    pub rule: String,
    /// Runs without the change.
    pub without: Runs,
    /// Runs with the change.
    pub with: Runs,
    /// Why it failed without the change, if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
}

/// How a test ended in some runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Number of runs in which it was executed; 0 if it was in none.
    pub of: u32,
    /// Number of these in which it failed.
    pub failed: u32,
}

/// A count or measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// Name: `tests`, `new failures`, `score`.
    pub what: String,
    /// Value with unit: `41`, `83 %`.
    pub value: String,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Effect on the verdict.
    pub weight: Weight,
    /// Rule, as named in settings and by people: `never-red`, `flaky`.
    pub rule: String,
    /// Description.
    pub message: String,
    /// Location.
    pub location: Option<Location>,
}

/// The effect of a finding on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It fails the gate.
    Fails,
    /// It fails the gate, and no agent can fix it: a person is asked.
    Person,
    /// It is shown; the gate passes.
    Noted,
}

impl Evidence {
    /// Adds a figure.
    pub fn figure(&mut self, what: &str, value: impl ToString) {
        if self.figures.len() < MOST_FIGURES {
            self.figures.push(Figure { what: what.to_owned(), value: value.to_string() });
        }
    }

    /// Adds a finding, shortened. Beyond the maximum number, only counts it.
    pub fn find(&mut self, weight: Weight, rule: &str, message: &str, location: Option<Location>) {
        if self.findings.len() >= MOST_FINDINGS {
            self.more = self.more.saturating_add(1);
            return;
        }
        let message = shorten(message.trim(), LONGEST);
        self.findings.push(Finding { weight, rule: rule.to_owned(), message, location });
    }

    /// Adds a test that turned from red to green, if there is room; a figure counts all of them.
    pub fn turned(&mut self, test: &str) {
        if self.red.len() < MOST_RED {
            self.red.push(shorten(test.trim(), LONGEST_NAME));
        }
    }

    /// Adds the runs of a test of the change, if there is room.
    pub fn ran(&mut self, test: TestRuns) {
        if self.tests.len() < MOST_RED {
            let (name, said) = (shorten(test.test.trim(), LONGEST_NAME), shorten(test.said.trim(), LONGEST));
            self.tests.push(TestRuns { test: name, said, ..test });
        }
    }

    /// Adds figures and findings of another check.
    pub fn add(&mut self, other: Self) {
        for Figure { what, value } in other.figures {
            self.figure(&what, value);
        }
        for Finding { weight, rule, message, location } in other.findings {
            self.find(weight, &rule, &message, location);
        }
        self.more = self.more.saturating_add(other.more);
        other.red.iter().for_each(|test| self.turned(test));
        other.tests.into_iter().for_each(|test| self.ran(test));
        self.complaints.extend(other.complaints);
    }

    /// Returns the findings that fail the gate.
    pub fn failing(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.weight != Weight::Noted)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.location {
            write!(f, "{}:{}: ", place.path, place.line)?;
        }
        write!(f, "{} [{}]", self.message, self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_bounded_however_much_is_found() {
        let mut evidence = Evidence::default();
        for number in 0..200 {
            evidence.find(Weight::Fails, "rule", &"x".repeat(10_000), None);
            evidence.figure("tests", number);
            evidence.turned(&"y".repeat(10_000));
            let long = "z".repeat(10_000);
            let runs = Runs { of: 1, failed: 1 };
            evidence.ran(TestRuns {
                test: long.clone(),
                rule: String::new(),
                without: runs,
                with: runs,
                said: long,
            });
        }
        assert_eq!((evidence.findings.len(), evidence.more), (MOST_FINDINGS, 150));
        assert_eq!(evidence.figures.len(), MOST_FIGURES);
        assert!(evidence.findings.iter().all(|finding| finding.message.len() < LONGEST + 40));
        assert_eq!(evidence.red.len(), MOST_RED);
        assert!(evidence.red.iter().all(|test| test.len() < LONGEST_NAME + 40));
        assert_eq!(evidence.tests.len(), MOST_RED);
        assert!(
            evidence.tests.iter().all(|it| it.test.len() < LONGEST_NAME + 40 && it.said.len() < LONGEST + 40)
        );
    }
}
