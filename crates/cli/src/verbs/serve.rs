//! `acquit serve`: the daemon.

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::serve::{self, Options};

/// Runs it.
pub fn serve(cli: &Cli, options: Options) -> Result<Exit, Error> {
    serve::run(&cli.app, options)?;
    Ok(Exit::Done)
}
