//! `acquit backup`, `acquit restore`, `acquit store`: commands on the whole store.

use std::path::Path;

use acquit_app::Error;
use acquit_store::{Copied, Location};
use serde_json::json;

use crate::args::StoreVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::text::{self, count};

/// Saves the store to a file.
pub fn backup(cli: &Cli, file: &Path) -> Result<Exit, Error> {
    let copied = cli.app.backup(file)?;
    report(cli, copied, &format!("saved to {}", file.display()));
    Ok(Exit::Done)
}

/// Restores a backup into the store.
pub fn restore(cli: &Cli, file: &Path) -> Result<Exit, Error> {
    let copied = cli.app.restore(file)?;
    report(cli, copied, &format!("restored from {}", file.display()));
    Ok(Exit::Done)
}

/// Moves or checks the store.
pub fn store(cli: &Cli, verb: &StoreVerb) -> Result<Exit, Error> {
    match verb {
        StoreVerb::Move { to } => {
            let to = Location::parse(to);
            let copied = cli.app.move_store(&to)?;
            report(cli, copied, &format!("moved to {to}"));
            if !cli.printer.json {
                cli.printer.say("set ACQUIT_STORE to the new place; the old store refuses to be used");
            }
            Ok(Exit::Done)
        }
        StoreVerb::Grant { role } => {
            cli.app.grant_worker(role)?;
            if cli.printer.json {
                cli.printer.json(&json!({ "role": role, "rights": "worker" }));
            } else {
                cli.printer.say(&text::visible(&format!("{role} has the rights of a worker, and no others")));
            }
            Ok(Exit::Done)
        }
        StoreVerb::Check => check(cli),
    }
}

fn report(cli: &Cli, copied: Copied, what: &str) {
    let Copied { tasks, events, rows } = copied;
    if cli.printer.json {
        cli.printer.json(&json!({ "tasks": tasks, "events": events, "rows": rows }));
    } else {
        cli.printer.say(&text::visible(&format!(
            "{what}: {}, {}",
            count(tasks, "task"),
            count(events, "event")
        )));
    }
}

fn check(cli: &Cli) -> Result<Exit, Error> {
    let checked = cli.app.check_store()?;
    let exit = if checked.problems.is_empty() { Exit::Done } else { Exit::Failed };
    if cli.printer.json {
        cli.printer.json(&checked);
        return Ok(exit);
    }
    for problem in &checked.problems {
        let task = problem.task.as_deref().map(|task| format!("{task}: ")).unwrap_or_default();
        cli.printer.data(&text::visible(&format!("{task}{}", problem.problem)));
    }
    let found = match checked.problems.len() {
        0 => "no problems".to_owned(),
        many => count(many, "problem"),
    };
    let (tasks, events) = (count(checked.tasks, "task"), count(checked.events, "event"));
    cli.printer.say(&format!("{found} in {tasks} and {events}"));
    Ok(exit)
}
