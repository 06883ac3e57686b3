//! `acquit mirror`: updates the mirror of one URL, and prints as JSON where it is or why it failed.

use std::time::Duration;

use acquit_run::mirror::{self, Reply};

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::serve::Home;

/// Updates the mirror, within these limits.
pub fn mirror(cli: &Cli, url: &str, largest: u64, within: Duration) -> Result<Exit, Error> {
    mirror::bound(largest);
    let home = Home::read(&cli.app)?.trusted()?;
    let (said, exit) = match mirror::refresh(&cli.app.runtime, &home.config, url, within) {
        Ok(place) => (Reply::Mirror(place), Exit::Done),
        Err(error) => (Reply::Failed(acquit_run::harness::chain(&error)), Exit::Failed),
    };
    cli.printer.json_line(&said);
    Ok(exit)
}
