//! Checks that read a change instead of running it: what it does to tests, settings and secrets.
//!
//! Each check is a function from a parsed change and its settings to findings. A finding names the file and the line
//! and shows the evidence, so that a person can judge it without the repository and an agent can fix it without a
//! search.

use std::fmt;

use crate::agent::shorten;

pub mod archive;
pub mod cases;
pub mod commits;
pub mod coverage;
pub mod diff;
pub mod dilution;
pub(crate) mod functions;
pub mod mutation;
pub mod outline;
pub mod review;
pub mod scope;
pub mod secrets;
pub mod source;

/// Maximum length of a line shown as evidence.
const EVIDENCE: usize = 160;

/// A problem that a check found in the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The broken rule. Settings can allow it by this name.
    pub rule: &'static str,
    /// The file, if it is about one.
    pub file: Option<String>,
    /// Line in that file, from 1; the line before the change if it was removed.
    pub line: Option<u32>,
    /// Description.
    pub what: String,
    /// Lines of the change that show the problem.
    pub evidence: Vec<String>,
    /// Whether it is only a suspicion that test runs can clear, and how.
    pub doubt: Option<Doubt>,
}

/// What clears a suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The tests of the change detect everything that the tests of the base detected.
    Strength,
    /// The same, and they have most values of the tests of the base.
    StrengthAndValues,
    /// The same, and the tests of the base pass on the new code.
    StrengthAndResults,
    /// The tests of the base pass on the new code.
    Results,
}

impl Finding {
    /// Creates a finding about a file.
    pub fn new(rule: &'static str, file: &str, line: Option<u32>, what: impl Into<String>) -> Self {
        Self { rule, file: Some(file.to_owned()), line, what: what.into(), evidence: Vec::new(), doubt: None }
    }

    /// Creates a finding about the whole change.
    pub fn general(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, file: None, line: None, what: what.into(), evidence: Vec::new(), doubt: None }
    }

    /// Turns the finding into a suspicion.
    #[must_use]
    pub(crate) fn unless(mut self, doubt: Doubt) -> Self {
        self.doubt = Some(doubt);
        self
    }

    /// Adds a line that shows the problem.
    #[must_use]
    pub fn with(mut self, mark: char, line: &str) -> Self {
        self.evidence.push(format!("{mark} {}", shorten(line.trim_end(), EVIDENCE)));
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, _) => {}
        }
        write!(f, "{} [{}]", self.what, self.rule)?;
        self.evidence.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
