//! Gates: checks that the harness runs on the work. Their verdict rests on what was executed.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::ids::Name;
use crate::sandbox::Network;
use crate::time::Span;

/// A gate as a workflow declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name in the workflow.
    pub name: Name,
    /// What is run.
    pub run: Command,
    /// The budget that a failure spends.
    pub kind: Name,
    /// Whether a failure rejects the work.
    pub severity: Severity,
    /// How long it may take.
    pub timeout: Span,
    /// Whom it may talk to; `None` for what the project says of gates.
    #[serde(default)]
    pub network: Option<Network>,
}

/// What a gate, a setup step or an agent runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for `sh -c`. Written by the project's owner; nothing is ever substituted into it.
    Shell(String),
    /// A program and its arguments, started directly.
    Program(Vec<String>),
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Program(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// What a failed gate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The work is rejected.
    Error,
    /// The work goes on, and the failure is shown.
    Warning,
}

/// What a gate found, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The gate.
    pub gate: Name,
    /// Whether the work stands this check.
    pub passed: bool,
    /// What a failure means.
    pub severity: Severity,
    /// The command as it was run.
    pub command: String,
    /// How the command ended, in words: `exit 0`, `exit 101`, `timed out after 10m`.
    pub ended: String,
    /// How long it took.
    pub took: Span,
    /// Where the whole output is kept.
    pub output: String,
    /// What is to be mended, if it failed.
    pub failure: Option<Failure>,
}

impl Verdict {
    /// Whether this verdict rejects the work.
    pub fn rejects(&self) -> bool {
        !self.passed && self.severity == Severity::Error
    }
}
