//! `acquit clean`: lists workspaces and the store's data for workers with their size, and removes what is no longer
//! needed.

use acquit_core::time::{Span, Timestamp};
use acquit_run::fleet::{self, Kept, Whose};
use acquit_run::history::{self, Old, Place};
use acquit_run::layers;
use acquit_run::retention::{self, Entry, Verdict, Wish};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{table, text};
use acquit_app::Error;
use acquit_app::serve::Home;
use acquit_app::size;

/// Words for what is removed, would be removed and stays.
const REMOVED: &str = "removed";
const WOULD_GO: &str = "would go";
const STAYS: &str = "stays";

/// Removes what is no longer needed, or only reports what it would remove.
pub fn clean(cli: &Cli, wish: Wish, whose: Whose) -> Result<Exit, Error> {
    let home = Home::read(&cli.app)?;
    let mut store = cli.app.store()?;
    let now = store.now()?;
    let (runtime, rule) = (&cli.app.runtime, &home.config.retention);
    let entries = retention::sweep(runtime, store.as_mut(), rule, wish)?;
    let kept = fleet::sweep(runtime, store.as_mut(), rule, wish, whose)?;
    let printer = cli.printer;
    let (layers, bytes) = layers::sweep(runtime, wish);
    let old = history::sweep(runtime, store.as_mut(), rule, wish)?;
    if printer.json {
        let all: Vec<Value> = entries
            .iter()
            .map(|entry| workspace(entry, now))
            .chain(kept.iter().map(|kept| parcels(kept, now)))
            .chain(old.iter().map(past))
            .chain((layers > 0).then(|| json!({ "layers": layers, "bytes": bytes })))
            .collect();
        printer.json(&all);
        return Ok(Exit::Done);
    }
    if layers > 0 {
        let words =
            format!("setup layers: {layers}, {}; one that is not used for 14 days goes", size::shown(bytes));
        printer.say(&words);
    }
    show_parcels(cli, &kept, wish, now);
    show_history(cli, &old, wish);
    if entries.is_empty() {
        printer.say("no task has a workspace");
        return Ok(Exit::Done);
    }
    let row = |entry: &Entry| {
        let what = joined(words(entry, now));
        vec![entry.task.to_string(), entry.state.to_owned(), size::shown(entry.bytes), what]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    for line in table::lines(&["TASK", "STATE", "SIZE", "WORKSPACE"], &rows, &[2]) {
        printer.data(&text::visible(&line));
    }
    let all: Vec<_> = entries.iter().map(|entry| (words(entry, now).0, entry.bytes)).collect();
    printer.say(&format!(
        "{}; what was in them is in refs/acquit/attempts/ of the repositories",
        sum(&all, wish, "in use")
    ));
    Ok(Exit::Done)
}

/// Shows the store's data for workers.
fn show_parcels(cli: &Cli, kept: &[Kept], wish: Wish, now: Timestamp) {
    if kept.is_empty() {
        return;
    }
    let row = |kept: &Kept| {
        let task = kept.held.task.map_or_else(|| "-".to_owned(), |task| task.to_string());
        let what = joined(parcel_words(kept, now));
        vec![task, kept.held.repository.clone(), size::shown(kept.held.bytes), what]
    };
    let rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    for line in table::lines(&["TASK", "REPOSITORY", "SIZE", "IN THE STORE"], &rows, &[2]) {
        cli.printer.data(&text::visible(&line));
    }
    let all: Vec<_> = kept.iter().map(|kept| (parcel_words(kept, now).0, kept.held.bytes)).collect();
    cli.printer.say(&format!("{}, for workers", sum(&all, wish, "in the store")));
}

/// Shows what is left of tasks that ended long ago.
fn show_history(cli: &Cli, old: &[Old], wish: Wish) {
    for (place, words) in [(Place::Store, "transcripts and events"), (Place::Home, "logs and attempts")] {
        let all: Vec<_> =
            old.iter().filter(|old| old.place == place).map(|old| (old_words(old).0, old.bytes)).collect();
        if !all.is_empty() {
            let tasks = all.len();
            cli.printer.say(&format!("{words} of {tasks} old tasks: {}", sum(&all, wish, "kept")));
        }
    }
    for old in old {
        if let history::Verdict::Refused(why) = &old.verdict {
            cli.printer
                .warn(&text::visible(&format!("the history of {} is kept: failed to {why}", old.task)));
        }
    }
}

fn past(old: &Old) -> Value {
    let (word, why) = old_words(old);
    let place = match old.place {
        Place::Store => "store",
        Place::Home => "home",
    };
    json!({ "task": old.task, "bytes": old.bytes, "place": place, "history": word, "why": why })
}

fn old_words(old: &Old) -> (&'static str, String) {
    match &old.verdict {
        history::Verdict::Removed => (REMOVED, String::new()),
        history::Verdict::Removable => (WOULD_GO, String::new()),
        history::Verdict::Needed => (STAYS, "the task goes on".to_owned()),
        history::Verdict::Refused(why) => (STAYS, format!("failed to {why}")),
    }
}

/// Formats a sum of sizes.
fn sum(all: &[(&str, u64)], wish: Wish, place: &str) -> String {
    let of =
        |wanted: &str| all.iter().filter(|(word, _)| *word == wanted).map(|(_, bytes)| bytes).sum::<u64>();
    let left = all.iter().map(|(_, bytes)| bytes).sum::<u64>().saturating_sub(of(REMOVED));
    let went = if wish == Wish::Clean {
        format!("{} removed", size::shown(of(REMOVED)))
    } else {
        format!("{} would go", size::shown(of(WOULD_GO)))
    };
    format!("{went}, {} {place}", size::shown(left))
}

fn workspace(entry: &Entry, now: Timestamp) -> Value {
    let (word, why) = words(entry, now);
    json!({ "task": entry.task, "state": entry.state, "bytes": entry.bytes, "workspace": word, "why": why })
}

fn parcels(kept: &Kept, now: Timestamp) -> Value {
    let (word, why) = parcel_words(kept, now);
    json!({ "task": kept.held.task, "state": kept.state, "repository": kept.held.repository, "bytes": kept.held.bytes,
        "parcels": kept.held.parcels, "store": word, "why": why })
}

fn joined((word, why): (&str, String)) -> String {
    if why.is_empty() { word.to_owned() } else { format!("{word}: {why}") }
}

fn words(entry: &Entry, now: Timestamp) -> (&'static str, String) {
    match &entry.verdict {
        Verdict::Removed => (REMOVED, String::new()),
        Verdict::Removable => (WOULD_GO, String::new()),
        Verdict::Needed => (STAYS, "the task is not over".to_owned()),
        Verdict::Until(moment) => (STAYS, until(*moment, now)),
        Verdict::Refused(trouble) => (STAYS, format!("failed to {}", acquit_run::harness::chain(trouble))),
    }
}

fn parcel_words(kept: &Kept, now: Timestamp) -> (&'static str, String) {
    match &kept.verdict {
        fleet::Verdict::Removed => (REMOVED, String::new()),
        fleet::Verdict::Removable => (WOULD_GO, String::new()),
        fleet::Verdict::Needed if kept.held.task.is_none() => (STAYS, "tasks need it".to_owned()),
        fleet::Verdict::Needed => (STAYS, "the task is not over".to_owned()),
        fleet::Verdict::Until(moment) => (STAYS, until(*moment, now)),
        fleet::Verdict::Elsewhere => {
            (STAYS, "the machine that the task was made on saves it first; see --others".to_owned())
        }
        fleet::Verdict::Refused(trouble) => {
            (STAYS, format!("failed to {}", acquit_run::harness::chain(trouble)))
        }
    }
}

fn until(moment: Timestamp, now: Timestamp) -> String {
    let left = u64::try_from(moment.since(now).as_millis()).unwrap_or(u64::MAX);
    format!("it may be tried again; goes in {}", Span::from(left))
}
