//! `acquit leg`: one leg, and then, by becoming it, the next one.

use std::ffi::OsString;

use acquit_core::event::Step;
use acquit_core::ids::TaskId;
use acquit_core::store::Wanted;
use acquit_core::time::Timestamp;
use acquit_run::harness::{self, Began};
use acquit_run::supervise;

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;

/// What a harness does after its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Takes the task's next leg, if that is due.
    GoOn,
    /// Leaves it to others.
    Stop,
}

/// Claims a leg and runs it. Ends well if there was nothing to claim: somebody else was faster.
pub fn leg(cli: &Cli, task: Option<TaskId>, then: Then, passed_on: Option<Timestamp>) -> Result<Exit, Error> {
    run(cli, task, then, passed_on)
        .inspect_err(|error| cli.printer.say(&supervise::farewell(std::process::id(), error)))
}

fn run(cli: &Cli, task: Option<TaskId>, then: Then, passed_on: Option<Timestamp>) -> Result<Exit, Error> {
    // A session of its own: a terminal that closes, or a Ctrl-C meant for who looks on, does not reach the harness.
    // Fails where it already leads a group, which is just as good.
    let _ = rustix::process::setsid();
    let began = Began { passed_on, ..Began::now() };
    let mut store = cli.app.store()?;
    let wanted = task.map_or(Wanted::Any, Wanted::Of);
    let Some(claim) = harness::claim(&cli.app.runtime, store.as_mut(), wanted)? else {
        return Ok(Exit::Done);
    };
    let task = harness::run(&cli.app.runtime, store.as_mut(), claim, began)?;
    if then == Then::Stop || !acquit_app::drive::is_due(store.as_mut(), task.id())? {
        harness::point(&cli.app.runtime, Step::PassOn);
        return Ok(Exit::Done);
    }
    // The store is closed before this process becomes another one.
    drop(store);
    harness::point(&cli.app.runtime, Step::PassOn);
    let now = (cli.app.runtime.now)().0.to_string();
    let args = ["leg", "--task", &task.id().to_string(), "--passed-on", &now].map(OsString::from);
    Err(cli.app.runtime.spawner.become_again(&args).into())
}
