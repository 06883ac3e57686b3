//! `acquit clean`: lists workspaces with their disk usage, and removes those that are no longer needed.

use acquit_core::time::{Span, Timestamp};
use acquit_run::layers;
use acquit_run::retention::{self, Entry, Verdict, Wish};
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{table, text};
use acquit_app::Error;
use acquit_app::serve::Home;
use acquit_app::size;

/// Removes workspaces, or only reports what it would remove.
pub fn clean(cli: &Cli, wish: Wish) -> Result<Exit, Error> {
    let home = Home::read(&cli.app)?;
    let mut store = cli.app.store()?;
    let now = store.now()?;
    let entries = retention::sweep(&cli.app.runtime, store.as_mut(), &home.config.retention, wish)?;
    let printer = cli.printer;
    let (layers, bytes) = layers::sweep(&cli.app.runtime, wish);
    if printer.json {
        let one = |entry: &Entry| {
            let (word, why) = words(entry, now);
            json!({ "task": entry.task, "state": entry.state, "bytes": entry.bytes, "workspace": word, "why": why })
        };
        printer.json(&entries.iter().map(one).collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    if layers > 0 {
        let words =
            format!("setup layers: {layers}, {}; one that is not used for 14 days goes", size::shown(bytes));
        printer.say(&words);
    }
    if entries.is_empty() {
        printer.say("no task has a workspace");
        return Ok(Exit::Done);
    }
    let row = |entry: &Entry| {
        let (word, why) = words(entry, now);
        let what = if why.is_empty() { word.to_owned() } else { format!("{word}: {why}") };
        vec![entry.task.to_string(), entry.state.to_owned(), size::shown(entry.bytes), what]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    for line in table::lines(&["TASK", "STATE", "SIZE", "WORKSPACE"], &rows, &[2]) {
        printer.data(&text::visible(&line));
    }
    let sum =
        |wanted: &str| entries.iter().filter(|one| words(one, now).0 == wanted).map(|one| one.bytes).sum();
    let (removed, would) = (sum("removed"), sum("would go"));
    let left = entries.iter().map(|entry| entry.bytes).sum::<u64>().saturating_sub(removed);
    let went = if wish == Wish::Clean {
        format!("{} removed", size::shown(removed))
    } else {
        format!("{} would go", size::shown(would))
    };
    printer.say(&format!(
        "{went}, {} in use; what was in them is in refs/acquit/attempts/ of the repositories",
        size::shown(left)
    ));
    Ok(Exit::Done)
}

fn words(entry: &Entry, now: Timestamp) -> (&'static str, String) {
    match &entry.verdict {
        Verdict::Removed => ("removed", String::new()),
        Verdict::Removable => ("would go", String::new()),
        Verdict::Needed => ("stays", "the task is not over".to_owned()),
        Verdict::Until(moment) => {
            let left = u64::try_from(moment.since(now).as_millis()).unwrap_or(u64::MAX);
            ("stays", format!("it may be tried again; goes in {}", Span::from(left)))
        }
        Verdict::Refused(trouble) => ("stays", format!("failed to {}", acquit_run::harness::chain(trouble))),
    }
}
