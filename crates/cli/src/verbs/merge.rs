//! `acquit merge`: merges a finished task into its base branch.

use acquit_app::Error;
use acquit_app::merge::Merge;
use acquit_core::ids::TaskId;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::run;

/// Runs the command.
pub fn merge(cli: &Cli, id: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    store.task(id)?;
    let after = run::newest(store, id)?;
    match cli.app.merge(store, id)? {
        Merge::Already { branch, commit } if cli.printer.json => {
            cli.printer.json(
                &serde_json::json!({ "task": id, "merged": "already", "branch": branch, "commit": commit }),
            );
            Ok(Exit::Done)
        }
        Merge::Already { branch, commit } => {
            let commit = commit.map(|commit| format!(", as {commit}")).unwrap_or_default();
            cli.printer.say(&format!("{id} is in {branch} already{commit}"));
            Ok(Exit::Done)
        }
        Merge::Ready(task) => run::run_task(cli, store, &task, after),
    }
}
