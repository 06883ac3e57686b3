//! A leg in a merge queue: it enters its candidate and waits for its turn, as a process for a moment and then as a row of the store.
//!
//! Who waits looks for a head that died, because nobody else might, and heeds a person who cancels the task.

use std::time::{Duration, Instant};

use acquit_core::delivery::queue::{Candidate, Place, Queue};
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::Pulse;
use acquit_core::time::Span;

use crate::leg::{LegAbort, LegContext};
use crate::{fault, supervise};

/// How long a leg looks at the queue before it looks again; whoever settles something lets it know before.
const LOOK: Duration = Duration::from_millis(200);
/// How often those who wait look for a head that died.
const BURY: Duration = Duration::from_secs(2);
/// How long a leg waits for its turn before it lets its process go. Its candidate stays in the queue, and the store lets it come again
/// when that moves; coming again costs about a second, so nobody waits for much longer.
const PATIENCE: Duration = Duration::from_secs(15);
/// When it comes again at the latest: a head that died wakes nobody.
pub(super) const AWAY: Span = Span::mins(1);

/// Enters a candidate, as what it is now.
pub(super) fn enter(ctx: &mut LegContext<'_>, queue: &Queue, candidate: &Candidate) -> Result<(), LegAbort> {
    ctx.store.enter_queue(ctx.hold, queue, candidate)?;
    fault::point("merge-entered", &ctx.runtime.environment);
    Ok(())
}

/// Whether a candidate can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidacy {
    /// It can.
    Open,
    /// It is about to be merged, and may be in the branch already: it is waited for.
    Planned,
}

/// The wait of a leg whose candidate is in the queue.
pub(super) struct Waiting<'q> {
    queue: &'q Queue,
    began: Instant,
    looked: Instant,
}

impl<'q> Waiting<'q> {
    /// Begins to wait.
    pub(super) fn new(queue: &'q Queue) -> Self {
        let now = Instant::now();
        Self { queue, began: now, looked: now }
    }

    /// Looks whether it is this leg's turn to lead, and waits for a moment if it is not. The end of the leg if a person wants
    /// that, or if its turn is not soon.
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
            // If the head died, its leg must be known to be lost before another can lead.
            supervise::reap_lost(ctx.runtime, ctx.store)?;
        }
        ctx.store.wait(LOOK)?;
        Ok(Place::Waits)
    }
}
