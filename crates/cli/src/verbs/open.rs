//! `acquit open`: opens a shell in a task's working tree, in its agent's sandbox.

use std::ffi::OsString;

use acquit_core::ids::TaskId;
use acquit_core::sandbox::{Mode, Network};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::sandbox::{self, Wanted};
use acquit_app::Error;
use acquit_app::diff::agent_policy;

/// Runs the command.
pub fn open(cli: &Cli, id: TaskId, command: Vec<OsString>) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let policy = agent_policy(&cli.app, store.as_mut(), id)?;
    drop(store);
    let command = if command.is_empty() {
        vec![cli.app.runtime.environment.get("SHELL").map_or_else(|| "sh".into(), ToOwned::to_owned)]
    } else {
        command
    };
    cli.printer.say(&format!("the tree of {id}, in the sandbox of its agent; `exit` leaves it"));
    sandbox::sandbox(
        cli,
        &Wanted {
            policy: Some(policy),
            network: Network::Off,
            hosts: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            mode: Mode::On,
            start: Some(cli.app.runtime.workspace_folder(id).join("work")),
            command,
        },
    )
}
