//! `acquit leg`: one leg, and then, by becoming it, the next one.

use std::ffi::OsString;

use acquit_core::event::Step;
use acquit_core::ids::TaskId;
use acquit_core::store::Wanted;
use acquit_core::time::Timestamp;
use acquit_run::harness::{self, Began};
use acquit_run::supervise;

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::relay;

/// What a harness does after its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Takes the task's next leg, if that is due.
    GoOn,
    /// Leaves it to others.
    Stop,
}

/// Claims a leg and runs it. Ends well if there was nothing to claim: somebody else was faster.
pub fn leg(
    desk: &Desk,
    task: Option<TaskId>,
    then: Then,
    passed_on: Option<Timestamp>,
) -> Result<Exit, Error> {
    run(desk, task, then, passed_on)
        .inspect_err(|error| desk.printer.say(&supervise::farewell(std::process::id(), error)))
}

fn run(desk: &Desk, task: Option<TaskId>, then: Then, passed_on: Option<Timestamp>) -> Result<Exit, Error> {
    // A session of its own: a terminal that closes, or a Ctrl-C meant for who looks on, does not reach the harness.
    // Fails where it already leads a group, which is just as good.
    let _ = rustix::process::setsid();
    let began = Began { passed_on, ..Began::now() };
    let mut store = desk.store()?;
    let wanted = task.map_or(Wanted::Any, Wanted::Of);
    let Some(claim) = harness::claim(&desk.world, store.as_mut(), wanted)? else { return Ok(Exit::Done) };
    let task = harness::run(&desk.world, store.as_mut(), claim, began)?;
    if then == Then::Stop || !relay::is_due(store.as_mut(), task.id())? {
        harness::point(&desk.world, Step::PassOn);
        return Ok(Exit::Done);
    }
    // The store is closed before this process becomes another one.
    drop(store);
    harness::point(&desk.world, Step::PassOn);
    let now = (desk.world.now)().0.to_string();
    let args = ["leg", "--task", &task.id().to_string(), "--passed-on", &now].map(OsString::from);
    Err(desk.world.spawner.become_again(&args).into())
}
