//! `acquit begin`: one repository of a night, for the daemon that started this process.

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::serve::{self, Which};

/// Begins with it. Ends with the daemon, which may be gone already.
pub fn begin(desk: &Desk, which: &Which, parent: u32) -> Result<Exit, Error> {
    if !acquit_run::process::end_with(parent) {
        return Ok(Exit::Done);
    }
    serve::begin(desk, which)?;
    Ok(Exit::Done)
}
