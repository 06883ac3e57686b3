//! `acquit open`: a shell in the working tree of a task, in the sandbox of its agent.

use std::ffi::OsString;
use std::path::PathBuf;

use acquit_core::ids::TaskId;
use acquit_core::sandbox::{Mode, Network};
use acquit_core::store::Store;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::sandbox::{self, Wanted};
use acquit_app::Error;

/// Opens it.
pub fn open(cli: &Cli, id: TaskId, command: Vec<OsString>) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let policy = policy(cli, store.as_mut(), id)?;
    drop(store);
    let command = if command.is_empty() {
        vec![cli.app.world.environment.get("SHELL").map_or_else(|| "sh".into(), ToOwned::to_owned)]
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
            start: Some(cli.app.world.workspace_folder(id).join("work")),
            command,
        },
    )
}

/// The policy of the last agent that worked on a task, as long as the task's tree is there.
pub fn policy(cli: &Cli, store: &mut dyn Store, id: TaskId) -> Result<PathBuf, Error> {
    store.task(id)?;
    let not = |what| Error::NotDelivered { task: id, what };
    if store.definition(id)?.config.sandbox == Mode::Off {
        return Err(not("it runs without a sandbox, so its tree cannot be opened in one"));
    }
    if !cli.app.world.workspace_folder(id).is_dir() {
        return Err(not("its workspace does not exist, or was removed because the task is done"));
    }
    let legs = store.legs(id)?;
    let policies =
        legs.iter().rev().map(|leg| cli.app.world.leg_folder(leg.id).path().join("policy-agent.json"));
    policies.into_iter().find(|path| path.is_file()).ok_or_else(|| not("no agent has worked on it yet"))
}
