//! `acquit open`: opens a shell in a task's working tree, in its agent's sandbox.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use acquit_core::ids::TaskId;
use acquit_core::sandbox::{Mode, Network};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::sandbox::{self, Wanted};
use acquit_app::Error;
use acquit_app::diff::agent_policy;
use acquit_run::sandbox::{Entry, Policy};

/// Runs the command.
pub fn open(cli: &Cli, id: TaskId, command: Vec<OsString>) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let policy = agent_policy(&cli.app, store.as_mut(), id)?;
    drop(store);
    let aside = Aside::make(cli, id, &policy);
    let command = if command.is_empty() {
        vec![cli.app.runtime.environment.get("SHELL").map_or_else(|| "sh".into(), ToOwned::to_owned)]
    } else {
        command
    };
    cli.printer.say(&format!("the tree of {id}, in the sandbox of its agent; `exit` leaves it"));
    let exit = sandbox::sandbox(
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
    );
    drop(aside);
    exit
}

/// Directories for files that an agent writes outside of the tree. They are removed when a task ends, so missing
/// ones are created while the shell runs.
struct Aside(Vec<PathBuf>);

impl Aside {
    fn make(cli: &Cli, id: TaskId, policy: &Path) -> Self {
        let homes = cli.app.runtime.agent_homes(id);
        let read = || serde_json::from_slice::<Policy>(&std::fs::read(policy).ok()?).ok();
        let view = read().map(|policy| policy.view).unwrap_or_default();
        let mut made = Vec::new();
        for place in view.iter().filter_map(Entry::written).filter(|place| place.starts_with(&homes)) {
            if place.exists() {
                continue;
            }
            let is_file = ["settings", "clients"]
                .iter()
                .any(|name| place.parent().is_some_and(|parent| parent.ends_with(name)));
            let mut work = place.as_os_str().to_owned();
            work.push(".work");
            let folders = if is_file {
                vec![place.parent().unwrap_or(place).to_owned()]
            } else {
                vec![place.to_owned(), PathBuf::from(work)]
            };
            for folder in folders {
                // A directory that cannot be created is reported when the sandbox starts.
                let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
                made.push(folder);
            }
            if is_file {
                let _ = std::fs::write(place, "");
            }
        }
        Self(made)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        for folder in &self.0 {
            // `acquit clean` removes leftovers.
            let _ = acquit_run::workspace::remove_folder(folder);
        }
    }
}
