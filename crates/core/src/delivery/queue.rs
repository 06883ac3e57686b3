//! The merge queue: one per base branch of a repository, in the store.
//!
//! A leg at a merge stage enters its task's commit as a candidate and waits: first as a process, then as a row that is
//! not due until the queue moves. One of the waiting legs is the head of the queue. It puts all candidates onto the
//! current branch, runs the gates once on the result, moves the branch once, and records the result of each. The head
//! is the leg that holds the queue's row and is running; when it ends or is lost, the next leg takes over.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::ids::{LegId, TaskId};

/// The id of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Path of the repository.
    pub project: String,
    /// Base branch.
    pub branch: String,
}

/// A task's commit to merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Commit, which is in the user's repository.
    pub commit: String,
    /// Base-branch commit it is based on.
    pub base: String,
    /// Key of the required proof. Candidates with the same key are tested together.
    pub proof: String,
}

/// A candidate in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Leg that entered it and waits, or has handed it back.
    pub leg: LegId,
    /// What to merge.
    pub candidate: Candidate,
    /// Commit that the branch was about to move to for it, if a head got this far. The branch shows whether it did.
    pub planned: Option<String>,
    /// Result.
    pub settled: Option<Settled>,
}

impl Entry {
    /// Returns its task.
    pub fn task(&self) -> TaskId {
        self.leg.task
    }
}

/// The result of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Settled {
    /// Merged into the branch.
    Merged {
        /// Merge commit.
        commit: String,
    },
    /// It conflicts with the branch and needs a decision.
    Conflict,
    /// The gates reject it even alone on the branch.
    Rejected {
        /// Failures the gates found.
        failures: Vec<Failure>,
    },
}

/// The role of a leg in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The head, which merges.
    Head,
    /// Waits while another leg is the head.
    Waits,
}
