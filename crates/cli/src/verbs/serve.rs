//! `acquit serve`: the daemon.

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::serve::{self, Options};

/// Runs it.
pub fn serve(desk: &Desk, options: Options) -> Result<Exit, Error> {
    serve::run(desk, options)
}
