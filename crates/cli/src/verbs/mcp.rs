//! `acquit mcp`: the server of acquit's own tools. Agents start it, inside their sandbox; nobody else needs it.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use acquit_run::harness::chain;
use acquit_run::mcp;

use crate::exit::Exit;

/// What it says to a person who tries it.
const USAGE: &str = "acquit mcp serves acquit's tools to the agent of a leg: acquit mcp <tools.json of the leg>. Agents are given it by \
acquit; see docs/mcp.md.";

/// Serves the tools on standard input and output. Its words go to the agent's log, unadorned.
pub fn mcp(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(brief), None) = (words.next(), words.next()) else {
        let _ = writeln!(std::io::stderr(), "{USAGE}");
        return ExitCode::from(Exit::Usage.code());
    };
    match mcp::serve(Path::new(&brief), &mut std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "failed to {}", chain(&error));
            ExitCode::from(Exit::Internal.code())
        }
    }
}
