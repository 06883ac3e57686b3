//! The merge queue: one for each base branch of a repository, in the store.
//!
//! A leg at a merge stage enters its task's commit as a candidate and waits: for a moment as a process, then as a row that is not due before
//! the queue moves. One of the legs that wait is the queue's head: it
//! brings all candidates onto what the branch is now, has the result gated once, moves the branch once, and settles what
//! became of each. The head is whoever holds the queue's row with a leg that runs; when that leg ends or is lost, the next one takes it.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::ids::{LegId, TaskId};

/// Which queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The repository's path.
    pub project: String,
    /// The base branch.
    pub branch: String,
}

/// A task's commit that is to be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The commit. It is in the user's repository.
    pub commit: String,
    /// The commit of the base branch that it stands on.
    pub base: String,
    /// What it must be proven by: candidates with the same are tested together.
    pub proof: String,
}

/// A candidate in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The leg that entered it and waits, or has handed it back.
    pub leg: LegId,
    /// What is to be merged.
    pub candidate: Candidate,
    /// What the branch was about to be moved to for it, if a head came so far. Whether it did is seen in the branch.
    pub planned: Option<String>,
    /// What became of it.
    pub settled: Option<Settled>,
}

impl Entry {
    /// Its task.
    pub fn task(&self) -> TaskId {
        self.leg.task
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Settled {
    /// It is in the branch, as this commit.
    Merged {
        /// The commit.
        commit: String,
    },
    /// It cannot be brought onto the branch without a decision about what both changed.
    Conflict,
    /// Alone on the branch it does not stand its gates.
    Rejected {
        /// What they found.
        failures: Vec<Failure>,
    },
}

/// Who a leg is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The head: it merges.
    Head,
    /// Another leg is.
    Waits,
}
