//! `acquit leg`: one leg, and then, by becoming it, the next one.

use std::time::Instant;

use acquit_core::event::Step;
use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::store::{Store, Wanted};
use acquit_core::task::{State, Task};
use acquit_run::{harness, supervise};

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;

/// What a harness does after its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Takes the task's next leg, if that is due.
    GoOn,
    /// Leaves it to others.
    Stop,
}

/// Claims a leg and runs it. Ends well if there was nothing to claim: somebody else was faster.
pub fn leg(desk: &Desk, task: Option<TaskId>, then: Then) -> Result<Exit, Error> {
    run(desk, task, then).inspect_err(|error| desk.printer.say(&supervise::farewell(std::process::id(), error)))
}

fn run(desk: &Desk, task: Option<TaskId>, then: Then) -> Result<Exit, Error> {
    // A session of its own: a terminal that closes, or a Ctrl-C meant for who looks on, does not reach the harness.
    // Fails where it already leads a group, which is just as good.
    let _ = rustix::process::setsid();
    let began = Instant::now();
    let mut store = desk.store()?;
    let wanted = task.map_or(Wanted::Any, Wanted::Of);
    let Some(claim) = harness::claim(&desk.world, store.as_mut(), wanted)? else { return Ok(Exit::Done) };
    let task = harness::run(&desk.world, store.as_mut(), claim, began)?;
    if then == Then::Stop || !is_next_due(store.as_mut(), &task)? {
        harness::point(&desk.world, Step::PassOn);
        return Ok(Exit::Done);
    }
    // The store is closed before this process becomes another one.
    drop(store);
    harness::point(&desk.world, Step::PassOn);
    let args = ["leg".into(), "--task".into(), task.id().to_string().into()];
    Err(desk.world.spawner.become_again(&args).into())
}

fn is_next_due(store: &mut dyn Store, task: &Task) -> Result<bool, Error> {
    if !matches!(task.state, State::Working { .. }) {
        return Ok(false);
    }
    let now = store.now()?;
    Ok(store.legs(task.id())?.last().is_some_and(|leg| leg.state == leg::State::Ready && leg.not_before <= now))
}
