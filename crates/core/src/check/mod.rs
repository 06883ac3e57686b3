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

/// What is shown of a line that is evidence.
const EVIDENCE: usize = 160;

/// Something that a check holds against the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that it breaks, by which settings can allow it.
    pub rule: &'static str,
    /// The file, if it is about one.
    pub file: Option<String>,
    /// The line in that file, from 1; before the change, if what is meant is gone.
    pub line: Option<u32>,
    /// What is wrong, in words.
    pub what: String,
    /// The lines that show it, as they stand in the change.
    pub evidence: Vec<String>,
    /// Whether it is only a suspicion, which running the tests may clear.
    pub doubt: Option<Doubt>,
}

/// What would clear a suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// That the tests as they are notice whatever those before noticed.
    Strength,
    /// The same, and that they have most of the values that those before had.
    StrengthAndValues,
    /// The same, and that those before pass on the new code.
    StrengthAndResults,
    /// That the tests as they were pass on the new code.
    Results,
}

impl Finding {
    /// A finding about a file.
    pub fn new(rule: &'static str, file: &str, line: Option<u32>, what: impl Into<String>) -> Self {
        Self { rule, file: Some(file.to_owned()), line, what: what.into(), evidence: Vec::new(), doubt: None }
    }

    /// A finding about the change as such.
    pub fn general(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, file: None, line: None, what: what.into(), evidence: Vec::new(), doubt: None }
    }

    /// The same as a suspicion.
    #[must_use]
    pub(crate) fn unless(mut self, doubt: Doubt) -> Self {
        self.doubt = Some(doubt);
        self
    }

    /// The same with a line that shows it.
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
