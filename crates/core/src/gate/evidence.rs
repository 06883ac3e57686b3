//! What a gate counted and found, bounded: it is stored with the event, shown to people and given to the agent that mends.

use serde::{Deserialize, Serialize};

use super::complaints::Complaint;
use crate::agent::shorten;
use crate::failure::Location;

/// How many findings are kept: whoever mends these mends most of the rest, and the gate is run again anyway.
const MOST_FINDINGS: usize = 50;

/// How many figures are kept: more are no figures, but a table.
const MOST_FIGURES: usize = 30;

/// How many tests that turned from red to green are kept by name: people read some of them, and the figure counts them all.
const MOST_RED: usize = 50;

/// How long such a name may be: longer than any that a person wrote.
const LONGEST_NAME: usize = 200;

/// How long a text of a finding may be. It says what is wrong; the whole output is kept elsewhere.
const LONGEST: usize = 600;

/// What a verdict rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was counted, in the order in which it is to be read.
    pub figures: Vec<Figure>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How many findings more there were.
    pub more: u32,
    /// Tests that failed by an assertion without the change and pass with it, by name: the first of them, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red: Vec<String>,
    /// What a command that failed complained about, to compare it with its base: for changes that are only judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complaints: Vec<Complaint>,
}

/// Something that was counted or measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// What: `tests`, `new failures`, `score`.
    pub what: String,
    /// How much, with its unit: `41`, `83 %`.
    pub value: String,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it does to the verdict.
    pub weight: Weight,
    /// The rule that it is about, by which settings and people call it: `never-red`, `flaky`.
    pub rule: String,
    /// What was found, in words.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
}

/// What a finding does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The gate fails because of it.
    Fails,
    /// The gate fails because of it, and no agent can mend it: a person is asked.
    Person,
    /// It is shown, and the gate passes all the same.
    Noted,
}

impl Evidence {
    /// Adds a figure.
    pub fn figure(&mut self, what: &str, value: impl ToString) {
        if self.figures.len() < MOST_FIGURES {
            self.figures.push(Figure { what: what.to_owned(), value: value.to_string() });
        }
    }

    /// Adds a finding, bounded; beyond the most that are kept it is only counted.
    pub fn find(&mut self, weight: Weight, rule: &str, message: &str, location: Option<Location>) {
        if self.findings.len() >= MOST_FINDINGS {
            self.more = self.more.saturating_add(1);
            return;
        }
        let message = shorten(message.trim(), LONGEST);
        self.findings.push(Finding { weight, rule: rule.to_owned(), message, location });
    }

    /// Adds a test that was red and is green, if there is room: how many there are is a figure.
    pub fn turned(&mut self, test: &str) {
        if self.red.len() < MOST_RED {
            self.red.push(shorten(test.trim(), LONGEST_NAME));
        }
    }

    /// Adds what something else counted and found.
    pub fn add(&mut self, other: Self) {
        for Figure { what, value } in other.figures {
            self.figure(&what, value);
        }
        for Finding { weight, rule, message, location } in other.findings {
            self.find(weight, &rule, &message, location);
        }
        self.more = self.more.saturating_add(other.more);
        other.red.iter().for_each(|test| self.turned(test));
        self.complaints.extend(other.complaints);
    }

    /// The findings that make the gate fail.
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
        }
        assert_eq!((evidence.findings.len(), evidence.more), (MOST_FINDINGS, 150));
        assert_eq!(evidence.figures.len(), MOST_FIGURES);
        assert!(evidence.findings.iter().all(|finding| finding.message.len() < LONGEST + 40));
        assert_eq!(evidence.red.len(), MOST_RED);
        assert!(evidence.red.iter().all(|test| test.len() < LONGEST_NAME + 40));
    }
}
