//! `acquit stats`: shows cost and success of tasks.

use acquit_app::Error;
use acquit_app::stats::{self, Which};

use crate::cli::Cli;
use crate::exit::Exit;

/// Runs the command.
pub fn stats(cli: &Cli, which: Which) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let stats = stats::stats(&cli.app, store.as_mut(), which)?;
    if cli.printer.json {
        cli.printer.json(&stats);
    } else {
        cli.printer.stats(&stats, which.limit);
    }
    Ok(Exit::Done)
}
