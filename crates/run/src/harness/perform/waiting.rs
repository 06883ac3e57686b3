//! A leg in a merge queue: adds its candidate and waits for its turn, first as a process, then as a row of the store.
//!
//! A waiting leg checks for a head that died, because nothing else may do so, and obeys a person who cancels the task.

use std::time::{Duration, Instant};

use acquit_core::delivery::queue::{Candidate, Place, Queue};
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::Pulse;
use acquit_core::time::Span;

use crate::leg::{LegAbort, LegContext};
use crate::{fault, supervise};

/// Poll interval for the queue. Settling a candidate wakes the leg earlier.
const LOOK: Duration = Duration::from_millis(200);
/// Interval at which waiting legs check for a head that died.
const BURY: Duration = Duration::from_secs(2);
/// How long a leg waits for its turn before its process exits. Its candidate stays in the queue, and the store starts
/// the leg again when the queue moves. That takes about a second, so a longer wait does not pay off.
const PATIENCE: Duration = Duration::from_secs(15);
/// Latest time to start the leg again, because a dead head wakes no other leg.
pub(super) const AWAY: Span = Span::mins(1);

/// Adds or updates a candidate in the queue.
pub(super) fn enter(ctx: &mut LegContext<'_>, queue: &Queue, candidate: &Candidate) -> Result<(), LegAbort> {
    ctx.store.enter_queue(ctx.hold, queue, candidate)?;
    fault::point("merge-entered", &ctx.runtime.environment);
    Ok(())
}

/// Whether a candidate can be withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidacy {
    /// It can be withdrawn.
    Open,
    /// It is about to be merged and may already be in the branch, so wait for it.
    Planned,
}

/// The wait of a leg whose candidate is in the queue.
pub(super) struct Waiting<'q> {
    queue: &'q Queue,
    began: Instant,
    looked: Instant,
}

impl<'q> Waiting<'q> {
    pub(super) fn new(queue: &'q Queue) -> Self {
        let now = Instant::now();
        Self { queue, began: now, looked: now }
    }

    /// Returns whether it is this leg's turn to lead, and waits for a moment if not. Ends the leg if a person cancels
    /// it or its turn takes too long.
    pub(super) fn place(
        &mut self,
        ctx: &mut LegContext<'_>,
        candidacy: Candidacy,
    ) -> Result<Place, LegAbort> {
        if ctx.pulse()? == Pulse::Cancel && candidacy == Candidacy::Open {
            ctx.store.leave_queue(ctx.hold, self.queue)?;
            return Err(LegAbort::Leg(Ending::Cancelled));
        }
        if ctx.store.lead_queue(ctx.hold, self.queue)? == Place::Head {
            return Ok(Place::Head);
        }
        if self.began.elapsed() > PATIENCE {
            let reason = format!("others are merged into {} before it", self.queue.branch);
            return Err(LegAbort::Leg(Ending::Held { kind: Name::literal(kind::QUEUE), wait: AWAY, reason }));
        }
        if self.looked.elapsed() > BURY {
            self.looked = Instant::now();
            // If the head died, its leg must be marked as lost before another can lead.
            supervise::reap_lost(ctx.runtime, ctx.store)?;
        }
        ctx.store.wait(LOOK)?;
        Ok(Place::Waits)
    }
}
