//! `acquit begin`: starts one repository of a night, for the daemon that started this process.

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::serve::{self, Which};

/// Starts it. Dies with the daemon, and does nothing if that is gone already.
pub fn begin(cli: &Cli, which: &Which, parent: u32) -> Result<Exit, Error> {
    if !acquit_run::process::end_with(parent) {
        return Ok(Exit::Done);
    }
    serve::start_night(&cli.app, which)?;
    Ok(Exit::Done)
}
