//! The hidden verb that parses untrusted source files in a sandbox. Reads a request from stdin and writes the answer
//! to stdout.

use std::io::Write;
use std::process::ExitCode;

use crate::exit::Exit;

/// Answers one request.
pub fn outline() -> ExitCode {
    match acquit_run::syntax::serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "failed to read the files: {error}");
            ExitCode::from(Exit::Internal.code())
        }
    }
}
