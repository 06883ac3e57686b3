//! Legs: one attempt at one stage of one task, by one harness process.

use serde::{Deserialize, Serialize};

use crate::agent::{Session, Usage};
use crate::artifact::Artifact;
use crate::conflict::Hunk;
use crate::failure::{Failure, kind};
use crate::ids::{Fence, LegId, Name};
use crate::outcome::Outcome;
use crate::time::{Span, Timestamp};

/// What a leg is to do: the stage, why it is entered, and which attempt this is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The stage.
    pub stage: Name,
    /// Why.
    pub purpose: Purpose,
}

/// Why a leg is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Purpose {
    /// The stage's own work.
    Work,
    /// Mend what gates rejected at another stage.
    Fix {
        /// The stage that was rejected.
        of: Name,
        /// What that stage had reported.
        outcome: Outcome,
        /// What the gates found.
        failures: Vec<Failure>,
    },
    /// After a fix: the stage's gates once more, without its agent. An action is done again, because its gates are part of it.
    Recheck {
        /// What the stage had reported.
        outcome: Outcome,
    },
    /// A person wants the delivered work merged: the stage's action, and then into the base branch.
    Merge,
    /// Bring the task's work together with what the base branch has become.
    Resolve {
        /// What is to be done afterwards.
        of: Box<Entry>,
        /// The commit of the base branch.
        onto: String,
        /// The places where both changed the same, as far as they are shown.
        hunks: Vec<Hunk>,
        /// The task's side of the conflict. A try that was rejected moves the work; every later one is still held against this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side: Option<Side>,
    },
}

/// Work before a conflict was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The commit of the base branch that it stood on.
    pub base: String,
    /// The work.
    pub tip: String,
}

/// The states of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for a harness.
    Ready,
    /// A harness holds it.
    Running,
    /// Its outcome stood the gates.
    Passed,
    /// A gate overruled it.
    Rejected,
    /// It came to no acceptable outcome.
    Failed,
    /// A limit ended it.
    TimedOut,
    /// A person ended it.
    Cancelled,
    /// Its harness died.
    Lost,
    /// The model's provider accepted no more work.
    Held,
}

impl State {
    /// All of them with their names, as stores and listings write them.
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

    /// The state's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, state)| *state == self).map_or("", |(name, _)| name)
    }

    /// The state of that name.
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
        /// What was reported.
        outcome: Outcome,
    },
    /// Gates overruled the outcome. Both are kept.
    Rejected {
        /// What was reported.
        outcome: Outcome,
        /// What the gates found.
        failures: Vec<Failure>,
    },
    /// No acceptable outcome.
    Failed {
        /// Which budget it spends; one of [`crate::failure::kind`].
        kind: Name,
        /// Why, in words for a person and for the next attempt.
        reason: String,
    },
    /// A time, idle or output limit ended it.
    TimedOut {
        /// Which limit, in words.
        reason: String,
    },
    /// A person ended it.
    Cancelled,
    /// Its harness died.
    Lost {
        /// How that was seen.
        why: String,
    },
    /// The base branch has moved, and the work does not fit onto it as it is. Nothing else was done.
    Conflict {
        /// The commit of the base branch.
        onto: String,
        /// The places where both changed the same, as far as they are shown.
        hunks: Vec<Hunk>,
        /// In words: the branch and the files.
        reason: String,
    },
    /// The model's provider or the forge accepted no more work: no failure of anybody's, and the next leg goes on where it
    /// stopped.
    Held {
        /// Which budget it spends, so that it cannot go on for ever; [`crate::failure::kind::USAGE`], `OVERLOAD` or `FORGE`.
        kind: Name,
        /// How long the next leg waits.
        wait: Span,
        /// The provider's words.
        reason: String,
    },
}

impl Ending {
    /// The state that a leg is in after it.
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

    /// The outcome that it passed with; `None` if it did not.
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

    /// Why it did not pass, in a line; `None` if it did.
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

/// Everything a leg hands over when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// Where the task's work stands from now on, if this leg moved it.
    pub tip: Option<String>,
    /// The commit of the base branch that the work stands on from now on, if this leg moved it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The commit of the base branch on which gates of this leg found the work good, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<String>,
    /// What it left.
    pub artifacts: Vec<Artifact>,
    /// What later legs should know.
    pub learning: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// The conversation that its agent could go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

impl Report {
    /// A report that carries nothing but its ending.
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

/// A leg that has ended, as its task remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// The leg's number.
    pub number: u32,
    /// What it was to do.
    pub entry: Entry,
    /// How it ended.
    pub ending: Ending,
    /// What it used.
    pub usage: Usage,
    /// The conversation that its agent could go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
}

/// Which process holds a leg. A pid alone may be reused; together with boot and start time it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The machine's name.
    pub host: String,
    /// The boot of that machine.
    pub boot: String,
    /// The process.
    pub pid: u32,
    /// When that process began, in the kernel's ticks since boot.
    pub started: u64,
    /// The worker that started it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// The right to write for a leg, as long as nobody else claimed it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The leg.
    pub leg: LegId,
    /// The fence of the claim.
    pub fence: Fence,
}

/// A leg as the store has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Its id.
    pub id: LegId,
    /// What it is to do.
    pub entry: Entry,
    /// Where it stands.
    pub state: State,
    /// Not to be claimed before this moment.
    pub not_before: Timestamp,
    /// Whether a person asked for its end.
    pub cancel: bool,
    /// The newest claim's fence, if it was ever claimed.
    pub fence: Option<Fence>,
    /// Who holds it, or held it last.
    pub owner: Option<Owner>,
    /// Until when the holder may be silent.
    pub lease_until: Option<Timestamp>,
    /// When it was claimed first.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What it used so far.
    pub usage: Usage,
}
