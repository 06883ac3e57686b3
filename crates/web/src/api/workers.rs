//! Routes for workers: what each has, and why a leg waits.

use acquit_app::workers::look;

use super::problem::Problem;
use super::route::{At, Context, Route, get};
use super::schema::answer;
use super::types::{Moment, Nothing};

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![get("/workers", "listWorkers", "List workers, and legs that wait with the reason", workers)]
}

answer! {
    /// Workers and waiting legs.
    Workers {
        /// Workers by name.
        workers: Vec<Worker>,
        /// Legs that are due and not claimed, in the order in which they are claimed.
        waiting: Vec<WaitingLeg>,
    }

    /// An `acquit worker` on this store.
    Worker {
        /// Name.
        name: String,
        /// State: working, stopping or silent.
        state: String,
        /// Name of its machine.
        host: String,
        /// Version of acquit.
        version: String,
        /// Number of legs that it runs at the same time.
        slots: u32,
        /// Number of running legs.
        running: u64,
        /// What it has: labels, agents, names of secrets, repositories.
        offers: Vec<String>,
        /// Time of its last report.
        seen: Moment,
    }

    /// A leg that waits to be claimed.
    WaitingLeg {
        /// Task.
        task: String,
        /// Number of the leg.
        leg: u32,
        /// Stage.
        stage: String,
        /// Since when it can be claimed.
        since: Moment,
        /// What it needs.
        needs: Vec<String>,
        /// Workers that have everything it needs.
        fits: Vec<String>,
        /// Why no worker takes it.
        why: Vec<String>,
    }
}

fn workers(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Workers, Problem> {
    let all = look(cx.store)?;
    let worker = |shown: acquit_app::workers::Shown| Worker {
        state: shown.standing.name().to_owned(),
        running: shown.running as u64,
        seen: shown.seen.seen.into(),
        offers: shown.seen.worker.offers.iter().map(ToString::to_string).collect(),
        name: shown.seen.worker.name,
        host: shown.seen.worker.host,
        version: shown.seen.worker.version,
        slots: shown.seen.worker.slots,
    };
    let waiting = |leg: acquit_app::workers::Waiting| WaitingLeg {
        task: leg.leg.task.to_string(),
        leg: leg.leg.number,
        stage: leg.stage,
        since: leg.since.into(),
        needs: leg.needs.iter().map(ToString::to_string).collect(),
        fits: leg.fits,
        why: leg.why,
    };
    Ok(Workers {
        workers: all.workers.into_iter().map(worker).collect(),
        waiting: all.waiting.into_iter().map(waiting).collect(),
    })
}
