//! A leg: one attempt at one stage of one task, run by one harness process.

use serde::{Deserialize, Serialize};

use crate::agent::{Session, Usage};
use crate::artifact::Artifact;
use crate::conflict::Hunk;
use crate::failure::{Failure, kind};
use crate::ids::{Fence, LegId, Name};
use crate::outcome::Outcome;
use crate::time::{Span, Timestamp};

/// The work of a leg: the stage, and why it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Stage to run.
    pub stage: Name,
    /// Why it runs.
    pub purpose: Purpose,
}

/// Why a leg runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Purpose {
    /// Do the stage's own work.
    Work,
    /// Fix what the gates rejected at another stage.
    Fix {
        /// The rejected stage.
        of: Name,
        /// Outcome that stage reported.
        outcome: Outcome,
        /// Failures the gates found.
        failures: Vec<Failure>,
    },
    /// Run the stage's gates again after a fix, without its agent. Actions are performed again, because their gates are
    /// part of them.
    Recheck {
        /// Outcome the stage reported.
        outcome: Outcome,
    },
    /// Merge delivered work at a person's request: perform the stage's action, then merge into the base branch.
    Merge,
    /// Resolve conflicts between the task's work and the current base branch.
    Resolve {
        /// Work to continue with afterwards.
        of: Box<Entry>,
        /// Commit of the base branch.
        onto: String,
        /// Conflicting places, up to the display limit.
        hunks: Vec<Hunk>,
        /// The task's side of the conflict. A rejected attempt moves the work, but every later attempt is still
        /// compared with this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side: Option<Side>,
    },
}

/// The work before a conflict was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Base-branch commit it was based on.
    pub base: String,
    /// Commit of the work.
    pub tip: String,
}

/// The state of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for a harness.
    Ready,
    /// Held by a harness.
    Running,
    /// The gates accepted the outcome.
    Passed,
    /// A gate rejected the outcome.
    Rejected,
    /// The leg reached no acceptable outcome.
    Failed,
    /// A limit stopped it.
    TimedOut,
    /// A person cancelled it.
    Cancelled,
    /// Its harness died.
    Lost,
    /// The model's provider accepted no more work.
    Held,
}

impl State {
    /// All states with their names in stores and listings.
    pub const ALL: [(&str, Self); 9] = [
        ("ready", Self::Ready),
        ("running", Self::Running),
        ("passed", Self::Passed),
        ("rejected", Self::Rejected),
        ("failed", Self::Failed),
        ("timed_out", Self::TimedOut),
        ("cancelled", Self::Cancelled),
        ("lost", Self::Lost),
        ("held", Self::Held),
    ];

    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, state)| *state == self).map_or("", |(name, _)| name)
    }

    /// Returns the state with this name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, state)| *state)
    }
}

/// How a leg ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ending {
    /// The outcome counts.
    Passed {
        /// The reported outcome.
        outcome: Outcome,
    },
    /// The gates rejected the outcome. Both are kept.
    Rejected {
        /// The reported outcome.
        outcome: Outcome,
        /// Failures the gates found.
        failures: Vec<Failure>,
    },
    /// The leg reached no acceptable outcome.
    Failed {
        /// Budget it spends; one of [`crate::failure::kind`].
        kind: Name,
        /// Reason, written for a person and for the next attempt.
        reason: String,
    },
    /// A time, idle or output limit stopped the leg.
    TimedOut {
        /// Description of the limit.
        reason: String,
    },
    /// A person cancelled the leg.
    Cancelled,
    /// The harness died.
    Lost {
        /// How that was detected.
        why: String,
    },
    /// The base branch has moved and the work conflicts with it. The leg did nothing else.
    Conflict {
        /// Commit of the base branch.
        onto: String,
        /// Conflicting places, up to the display limit.
        hunks: Vec<Hunk>,
        /// Description: the branch and the files.
        reason: String,
    },
    /// The model's provider or the forge accepted no more work, or something killed a gate from outside. This is
    /// nobody's failure; the next leg continues where this one stopped.
    Held {
        /// Budget it spends, so that waiting cannot go on forever: [`crate::failure::kind::USAGE`], `OVERLOAD`, `FORGE`,
        /// `CONFLICT`, `QUEUE` or `LOST`.
        kind: Name,
        /// Delay of the next leg.
        wait: Span,
        /// The provider's message, or what was killed.
        reason: String,
    },
}

impl Ending {
    /// Returns the resulting state of the leg.
    pub fn state(&self) -> State {
        match self {
            Self::Passed { .. } => State::Passed,
            Self::Rejected { .. } | Self::Conflict { .. } => State::Rejected,
            Self::Failed { .. } => State::Failed,
            Self::TimedOut { .. } => State::TimedOut,
            Self::Cancelled => State::Cancelled,
            Self::Lost { .. } => State::Lost,
            Self::Held { .. } => State::Held,
        }
    }

    /// Returns the outcome if the leg passed.
    pub fn passed(&self) -> Option<&Outcome> {
        match self {
            Self::Passed { outcome } => Some(outcome),
            Self::Rejected { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled
            | Self::Lost { .. }
            | Self::Conflict { .. }
            | Self::Held { .. } => None,
        }
    }

    /// Returns one line on why the leg did not pass; `None` if it passed.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Passed { .. } => None,
            Self::Rejected { failures, .. } => {
                let gates: Vec<&str> = failures.iter().map(|failure| failure.gate.as_str()).collect();
                Some(format!("rejected by {}", gates.join(", ")))
            }
            Self::Failed { kind, reason } => Some(format!("{kind}: {reason}")),
            Self::TimedOut { reason } | Self::Conflict { reason, .. } => Some(reason.clone()),
            Self::Cancelled => Some("cancelled".to_owned()),
            Self::Lost { why } => Some(format!("harness lost: {why}")),
            Self::Held { kind, reason, .. } if *kind == *kind::LOST => Some(reason.clone()),
            Self::Held { kind, wait, reason } => {
                let whom = match kind.as_str() {
                    kind::FORGE => "the forge",
                    kind::CONFLICT | kind::QUEUE => "its turn to be merged",
                    _ => "the model's provider",
                };
                Some(format!("waits {wait} for {whom}: {reason}"))
            }
        }
    }
}

/// The result a leg hands over when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How the leg ended.
    pub ending: Ending,
    /// New tip of the task's work, if the leg moved it.
    pub tip: Option<String>,
    /// New base-branch commit of the work, if the leg moved it onto one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Base-branch commit on which this leg's gates accepted the work, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<String>,
    /// Artifacts of the leg.
    pub artifacts: Vec<Artifact>,
    /// Note for later legs.
    pub learning: Option<String>,
    /// Usage of the leg.
    pub usage: Usage,
    /// Agent conversation that can be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

impl Report {
    /// Creates a report that contains only the ending.
    pub fn bare(ending: Ending) -> Self {
        Self {
            ending,
            tip: None,
            base: None,
            proven: None,
            artifacts: Vec::new(),
            learning: None,
            usage: Usage::default(),
            session: None,
        }
    }
}

/// A finished leg in the task's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Leg number.
    pub number: u32,
    /// Work of the leg.
    pub entry: Entry,
    /// How it ended.
    pub ending: Ending,
    /// Usage of the leg.
    pub usage: Usage,
    /// Agent conversation that can be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

/// The process that holds a leg. A pid may be reused; together with boot id and start time it is unique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Host name.
    pub host: String,
    /// Boot id of the host.
    pub boot: String,
    /// Process id.
    pub pid: u32,
    /// Start time of the process, in kernel ticks since boot.
    pub started: u64,
    /// The worker that started it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// The right to write for a leg. It is void once another process claims the leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Leg id.
    pub leg: LegId,
    /// Fence of the claim.
    pub fence: Fence,
}

/// A leg as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Leg id.
    pub id: LegId,
    /// Work of the leg.
    pub entry: Entry,
    /// Current state.
    pub state: State,
    /// Earliest time at which it may be claimed.
    pub not_before: Timestamp,
    /// Whether a person asked to cancel it.
    pub cancel: bool,
    /// Fence of the newest claim, if any.
    pub fence: Option<Fence>,
    /// Current or last owner.
    pub owner: Option<Owner>,
    /// Time until which the owner may be silent.
    pub lease_until: Option<Timestamp>,
    /// Time of the first claim.
    pub started: Option<Timestamp>,
    /// End time.
    pub ended: Option<Timestamp>,
    /// Usage so far.
    pub usage: Usage,
}
