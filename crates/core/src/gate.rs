//! Gates: checks that the harness runs on the work. Their verdict rests on what was executed, or on what the change itself
//! says, never on what an agent says of it.
//!
//! A [`Gate`] is a [`Check`] with what all of them have: a name, the budget that a failure spends, limits. What a check found
//! is a [`Verdict`] with its [`Evidence`].

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
pub use evidence::{Evidence, Figure, Finding, Weight};
pub use filter::{Matcher, PathFilter};
pub use report::{Format, Place, Report};

pub use crate::command::Command;
pub use crate::paths::{BadPattern, Paths};

/// A gate as a workflow declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Gate {
    /// Its name in the workflow.
    pub name: Name,
    /// What is checked, and how.
    pub check: Check,
    /// The budget that a failure spends.
    pub kind: Name,
    /// Whether a failure rejects the work.
    pub severity: Severity,
    /// How long each command of it may take.
    pub timeout: Span,
    /// Whom it may talk to; `None` for what the project says of gates.
    pub network: Option<Network>,
    /// Whether it runs beside others.
    pub manner: Manner,
    /// Whether its verdict holds for the same work again.
    pub reuse: Reuse,
    /// Variables that its commands get beside the short common list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The changes that it is run for.
    #[serde(skip_serializing_if = "PathFilter::is_empty")]
    pub paths: PathFilter,
    /// How only what is related to changed files is checked, for stages that want no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<Command>,
    /// How many bytes each command of it may print; `None` for the usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl Gate {
    /// Whom its commands may talk to: as it says, or else as the project says of gates.
    pub fn reach(&self, usual: &Networks) -> Network {
        self.network.unwrap_or(usual.gates)
    }

    /// Whether its kind is `test`, which a project gives to gates that run its tests.
    pub fn is_test(&self) -> bool {
        self.kind.as_str() == "test"
    }
}

/// Whether a gate runs beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// By itself, in the workspace.
    #[default]
    Alone,
    /// At the same time as the others that do, in a tree of its own.
    AtOnce,
}

/// Whether a verdict is believed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// As long as the work is the same.
    #[default]
    SameTree,
    /// Never: the gate looks at something else than the work.
    Never,
}

/// A gate as it is stored. Definitions that were stored when every gate was a command say what is run, and not which check
/// it is.
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

/// What a failed gate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The work is rejected.
    Error,
    /// The work goes on, and the failure is shown.
    Warning,
    /// The gate is not run.
    Off,
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
    /// The command as it was run; for a check that runs none, what it does.
    pub command: String,
    /// How the command ended, in words: `exit 0`, `exit 101`, `timed out after 10m`.
    pub ended: String,
    /// How long it took.
    pub took: Span,
    /// Where the whole output is kept.
    pub output: String,
    /// What is to be mended, if it failed.
    pub failure: Option<Failure>,
    /// What it counted and found.
    #[serde(default)]
    pub evidence: Evidence,
    /// The end of what it printed, bounded: what it tried can be seen without its files.
    #[serde(default)]
    pub tail: String,
    /// The leg of the same task that gave this verdict on the same work, if it was not given anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<u32>,
    /// Why a command of the gate was stopped early, if one was. Such a verdict says nothing about the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// Why a command did not run to its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// It ran longer than its timeout, or printed nothing for too long.
    Timeout,
    /// It printed too much.
    Output,
    /// It used too much of a resource: memory, processes, disk space or processor time.
    Resource,
    /// Somebody or another gate stopped it.
    Cancelled,
    /// Its program could not be started.
    NotStarted,
}

impl Verdict {
    /// Whether this verdict rejects the work.
    pub fn rejects(&self) -> bool {
        !self.passed && self.severity == Severity::Error
    }

    /// The exit code, if the verdict is on a single command that ran to its own end.
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
