//! Stops a process tree in steps: SIGTERM, grace period, kill the tree, kill the helper.

use std::time::{Duration, Instant};

use super::error::Error;
use super::tree::{FORCE_LIMIT, KILL_LIMIT, Tree};

/// The current step. Each step has a timeout, after which the next one follows.
#[derive(Debug)]
pub(super) struct Ladder {
    rung: Rung,
    grace: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Rung {
    Surroundings,
    Asked { since: Instant },
    Forced { since: Instant },
    Killed { since: Instant },
}

impl Ladder {
    pub(super) fn new(grace: Duration) -> Self {
        Self { rung: Rung::Surroundings, grace }
    }

    /// Takes the first step, unless it was taken already.
    pub(super) fn ask(&mut self, tree: &Tree, now: Instant) {
        if matches!(self.rung, Rung::Surroundings) {
            tree.ask();
            self.rung = Rung::Asked { since: now };
        }
    }

    /// Takes the second step, unless it was taken already.
    pub(super) fn force(&mut self, tree: &Tree, now: Instant) {
        if matches!(self.rung, Rung::Surroundings | Rung::Asked { .. }) {
            tree.force();
            self.rung = Rung::Forced { since: now };
        }
    }

    /// Takes the next step if the current one timed out. Fails after the last.
    pub(super) fn climb(&mut self, tree: &Tree, now: Instant) -> Result<(), Error> {
        if !self.left(now).is_zero() {
            return Ok(());
        }
        match self.rung {
            Rung::Surroundings => {}
            Rung::Asked { .. } => self.force(tree, now),
            Rung::Forced { .. } => {
                tree.kill();
                self.rung = Rung::Killed { since: now };
            }
            Rung::Killed { .. } => return Err(Error::Unkillable { pid: tree.pid(), limit: KILL_LIMIT }),
        }
        Ok(())
    }

    /// Returns the time until the next step.
    pub(super) fn left(&self, now: Instant) -> Duration {
        let left = |since, limit: Duration| limit.saturating_sub(now.duration_since(since));
        match self.rung {
            Rung::Surroundings => Duration::MAX,
            Rung::Asked { since } => left(since, self.grace),
            Rung::Forced { since } => left(since, FORCE_LIMIT),
            Rung::Killed { since } => left(since, KILL_LIMIT),
        }
    }
}
