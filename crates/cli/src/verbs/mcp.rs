//! `acquit mcp`: serves the tool `prove` to any client or, if an agent starts it with a file, the tools of a leg.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use acquit_app::Error;
use acquit_app::prove::tool;
use acquit_run::harness::chain;
use acquit_run::mcp;

use crate::cli::Cli;
use crate::exit::Exit;

/// Serves the tool `prove` on stdin and stdout.
pub fn for_any_client(cli: &Cli) -> Result<Exit, Error> {
    tool::serve(&cli.app, std::io::stdin(), &mut std::io::stdout().lock(), tool::PATIENCE)?;
    Ok(Exit::Done)
}

/// Serves the tools of a leg on stdin and stdout. Errors go to the agent's log unchanged.
pub fn of_leg(brief: &OsStr) -> ExitCode {
    match mcp::serve(Path::new(brief), &mut std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "failed to {}", chain(&error));
            ExitCode::from(Exit::Internal.code())
        }
    }
}
