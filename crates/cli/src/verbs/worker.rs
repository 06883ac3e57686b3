//! `acquit worker` and `acquit workers`: runs legs of a store that many machines share, and lists the workers.

use acquit_app::worker::{self, Options};
use acquit_app::{Error, workers};

use crate::args::{FleetVerb, WorkerArgs};
use crate::cli::Cli;
use crate::exit::Exit;

/// Runs one of the commands.
pub fn fleet(cli: Cli, verb: FleetVerb) -> Result<Exit, Error> {
    match verb {
        FleetVerb::Worker { args } => run(cli, args),
        FleetVerb::Workers => list(&cli),
    }
}

fn run(cli: Cli, args: WorkerArgs) -> Result<Exit, Error> {
    let WorkerArgs { store, labels, slots, name, trust_store, hand_back, healthy } = args;
    let app = cli.app.into_worker(store);
    if healthy {
        worker::check_alive(&app, name)?;
        return Ok(Exit::Done);
    }
    worker::run(&app, Options { name, labels, slots, trust_store, hand_back })?;
    Ok(Exit::Done)
}

fn list(cli: &Cli) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let found = workers::look(store.as_mut())?;
    if cli.printer.json {
        cli.printer.json(&found);
    } else {
        cli.printer.workers(&found);
    }
    Ok(Exit::Done)
}
