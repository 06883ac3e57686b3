//! Gates: checks that the harness runs on the work. A verdict rests on executed programs or on the change itself, never
//! on an agent's claims.
//!
//! A [`Gate`] is a [`Check`] with common settings: a name, the budget that a failure spends, limits. Its result is a
//! [`Verdict`] with [`Evidence`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::ids::Name;
use crate::sandbox::{Network, Networks};
use crate::time::Span;

pub mod check;
pub mod complaints;
mod evidence;
mod filter;
mod report;
pub mod rule;

pub use check::Check;
pub use evidence::{Evidence, Figure, Finding, Runs, TestRuns, Weight};
pub use filter::{Matcher, PathFilter};
pub use report::{Format, Place, Report};

pub use crate::command::Command;
pub use crate::paths::{BadPattern, Paths};

/// A gate as declared in a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Gate {
    /// Name in the workflow.
    pub name: Name,
    /// What to check, and how.
    pub check: Check,
    /// Budget that a failure spends.
    pub kind: Name,
    /// Whether a failure rejects the work.
    pub severity: Severity,
    /// Maximum run time of each of its commands.
    pub timeout: Span,
    /// Network access; `None` uses the project's setting for gates.
    pub network: Option<Network>,
    /// Whether it runs in parallel with others.
    pub manner: Manner,
    /// Whether a verdict is reused for the same work.
    pub reuse: Reuse,
    /// Environment variables of its commands, in addition to the short common list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Changes that it runs for.
    #[serde(skip_serializing_if = "PathFilter::is_empty")]
    pub paths: PathFilter,
    /// Command that checks only what changed files concern, for stages that ask for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<Command>,
    /// Maximum output of each command, in bytes; `None` means the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl Gate {
    /// Returns the network access of its commands: its own setting, else the project's for gates.
    pub fn reach(&self, usual: &Networks) -> Network {
        self.network.unwrap_or(usual.gates)
    }

    /// Returns whether its kind is `test`, which projects use for gates that run tests.
    pub fn is_test(&self) -> bool {
        self.kind.as_str() == "test"
    }
}

/// Whether a gate runs in parallel with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// Alone, in the workspace.
    #[default]
    Alone,
    /// At the same time as other such gates, in a separate tree.
    AtOnce,
}

/// Whether a verdict is reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Reuse it for the same work.
    #[default]
    SameTree,
    /// Never reuse it, because the gate reads more than the work.
    Never,
}

/// The stored form of a gate. Definitions from the time when every gate was a command name the command and no check.
#[derive(Deserialize)]
struct Stored {
    name: Name,
    check: Option<Check>,
    run: Option<Command>,
    kind: Name,
    severity: Severity,
    timeout: Span,
    #[serde(default)]
    network: Option<Network>,
    #[serde(default)]
    manner: Manner,
    #[serde(default)]
    reuse: Reuse,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    paths: PathFilter,
    #[serde(default)]
    related: Option<Command>,
    #[serde(default)]
    output: Option<u64>,
}

impl TryFrom<Stored> for Gate {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { check, run, .. } = stored;
        let command = || run.map(|run| Check::Command(check::Plain { run, report: None, related: None }));
        let check = check.or_else(command).ok_or("a gate that checks nothing")?;
        Ok(Self {
            name: stored.name,
            check,
            kind: stored.kind,
            severity: stored.severity,
            timeout: stored.timeout,
            network: stored.network,
            manner: stored.manner,
            reuse: stored.reuse,
            env: stored.env,
            paths: stored.paths,
            related: stored.related,
            output: stored.output,
        })
    }
}

/// The effect of a failed gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The work is rejected.
    Error,
    /// The work continues, and the failure is shown.
    Warning,
    /// The gate does not run.
    Off,
}

/// The result of a gate, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Gate name.
    pub gate: Name,
    /// Whether the work passed.
    pub passed: bool,
    /// Effect of a failure.
    pub severity: Severity,
    /// The command as run, or a description of a check without a command.
    pub command: String,
    /// How the command ended: `exit 0`, `exit 101`, `timed out after 10m`.
    pub ended: String,
    /// Duration.
    pub took: Span,
    /// Where the whole output is kept.
    pub output: String,
    /// What to fix, if it failed.
    pub failure: Option<Failure>,
    /// Counts and findings.
    #[serde(default)]
    pub evidence: Evidence,
    /// The end of its output, bounded, to see what ran without its files.
    #[serde(default)]
    pub tail: String,
    /// Leg of the same task that gave this verdict on the same work, if the verdict is reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<u32>,
    /// Why a command was stopped early, if one was. Such a verdict does not predict the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// It exceeded its timeout, or printed nothing for too long.
    Timeout,
    /// Its output exceeded the limit.
    Output,
    /// It exceeded a resource limit: memory, processes, disk space or processor time.
    Resource,
    /// A person or another gate stopped it.
    Cancelled,
    /// Its program did not start.
    NotStarted,
}

impl Verdict {
    /// Returns whether this verdict rejects the work.
    pub fn rejects(&self) -> bool {
        !self.passed && self.severity == Severity::Error
    }

    /// Returns the exit code, if the verdict is on a single command that was not stopped.
    pub fn exit_code(&self) -> Option<i32> {
        self.ended.strip_prefix("exit ")?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_was_stored_as_a_command_is_still_one() {
        let old = r#"{"name":"test","run":{"shell":"cargo test"},"kind":"test","severity":"error","timeout":600000}"#;
        let gate: Gate = serde_json::from_str(old).unwrap();
        assert_eq!(gate.check.command(), Some(&Command::Shell("cargo test".to_owned())));
        let again: Gate = serde_json::from_str(&serde_json::to_string(&gate).unwrap()).unwrap();
        assert_eq!(again, gate);
        let none = r#"{"name":"test","kind":"test","severity":"error","timeout":600000}"#;
        assert!(serde_json::from_str::<Gate>(none).is_err());
    }
}
