//! `acquit leg`: runs one leg, then becomes the harness of the next one by `exec`.

use std::ffi::OsString;

use acquit_core::event::Step;
use acquit_core::store::{Claim, Store, Wanted};
use acquit_core::time::Timestamp;
use acquit_run::fleet;
use acquit_run::harness::{self, Began};
use acquit_run::supervise;

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;

/// What a harness does after its handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Continue with the task's next leg, if it is due.
    GoOn,
    /// Exit, and leave it to other harnesses.
    Stop,
}

/// Claims a leg and runs it. Succeeds if there was nothing to claim: another harness was faster.
pub fn leg(cli: &Cli, wanted: Wanted<'_>, then: Then, passed_on: Option<Timestamp>) -> Result<Exit, Error> {
    run(cli, wanted, then, passed_on)
        .inspect_err(|error| cli.printer.say(&supervise::farewell(std::process::id(), error)))
}

fn run(cli: &Cli, wanted: Wanted<'_>, then: Then, passed_on: Option<Timestamp>) -> Result<Exit, Error> {
    // Start a new session, so that closing the terminal, or Ctrl-C for a watching process, does not reach the
    // harness. This fails if the process already leads a group, which is fine.
    let _ = rustix::process::setsid();
    let began = Began { passed_on, ..Began::now() };
    let mut store = cli.app.store()?;
    let worker = match wanted {
        Wanted::By(worker, _) => Some(worker),
        Wanted::Any | Wanted::Of(_) | Wanted::Due(_) => None,
    };
    let Some(mut claim) = harness::claim(&cli.app.runtime, store.as_mut(), wanted)? else {
        return Ok(Exit::Done);
    };
    if worker.is_some() {
        prepare(cli, store.as_mut(), &mut claim)?;
    }
    let task = harness::run(&cli.app.runtime, store.as_mut(), claim, began)?;
    let goes_on = match worker {
        Some(worker) => {
            let now = store.now()?;
            acquit_app::worker::goes_on(store.as_mut(), worker, now)?
        }
        // The next harness could not open a store that a newer acquit has migrated.
        None => store.check_version().is_ok(),
    };
    if then == Then::Stop || !goes_on || !acquit_app::drive::is_due(store.as_mut(), task.id())? {
        harness::point(&cli.app.runtime, Step::PassOn);
        return Ok(Exit::Done);
    }
    // Close the store before `exec`.
    drop(store);
    harness::point(&cli.app.runtime, Step::PassOn);
    let now = (cli.app.runtime.now)().0.to_string();
    let mut args =
        ["leg", "--task", &task.id().to_string(), "--passed-on", &now].map(OsString::from).to_vec();
    args.extend(worker.into_iter().flat_map(|worker| ["--worker", worker].map(OsString::from)));
    Err(cli.app.runtime.spawner.become_again(&args).into())
}

/// Adapts a claim to this worker: its own clone of the repository, and its own configuration for secrets and safety.
fn prepare(cli: &Cli, store: &mut dyn Store, claim: &mut Claim) -> Result<(), Error> {
    let travel = &claim.definition.travel;
    if travel.repository.is_none() {
        return Ok(());
    }
    let own = cli.app.user_config()?;
    let wanted = (claim.leg.id.task, travel);
    let mut source = fleet::clone(&cli.app.runtime, store, &own, wanted, fleet::WITHIN_LEASE)?;
    // It is unknown here whether a base in the store is the project's own.
    if let Ok(base) = claim.task.seed.base.commit.parse() {
        source = source.on_foreign(&base);
    }
    claim.definition = fleet::worker_definition(&claim.definition, &own, &source);
    Ok(())
}
