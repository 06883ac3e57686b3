//! `acquit begin`: one repository of a night, for the daemon that started this process.

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::serve::{self, Which};

/// Begins with it. Ends with the daemon, which may be gone already.
pub fn begin(cli: &Cli, which: &Which, parent: u32) -> Result<Exit, Error> {
    if !acquit_run::process::end_with(parent) {
        return Ok(Exit::Done);
    }
    serve::start_night(&cli.app, which)?;
    Ok(Exit::Done)
}
