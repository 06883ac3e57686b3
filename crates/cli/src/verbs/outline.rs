//! The hidden verb that reads source files of strangers, in a sandbox: a question on standard input, the answer on standard output.

use std::io::Write;
use std::process::ExitCode;

use crate::exit::Exit;

/// Answers one question.
pub fn outline() -> ExitCode {
    match acquit_run::syntax::serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "failed to read the files: {error}");
            ExitCode::from(Exit::Internal.code())
        }
    }
}
