//! `acquit run`: runs a task to its end, with live progress.

use std::io::Read;

use acquit_core::change::Change;
use acquit_core::event::{Body, Level};
use acquit_core::ids::TaskId;
use acquit_core::sandbox::Mode;
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};

use crate::args::NewTask;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::{Look, text};
use acquit_app::Error;
use acquit_app::preflight;
use acquit_app::reload::Renewal;

/// Maximum length of a description: more is a file.
const DESCRIPTION_LIMIT: u64 = 256 * 1024;

/// Runs a task, new or existing.
pub fn run(cli: &Cli, new: &NewTask, pinned: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    acquit_run::supervise::release(store)?;
    let (task, after) = match new.title.parse::<TaskId>() {
        // Only the form `T-7` means an existing task: a bare number could be a title.
        Ok(id) if ["T-", "t-"].iter().any(|start| new.title.starts_with(start)) => {
            (known(cli, store, id, new, pinned)?, newest(store, id)?)
        }
        _ if pinned => {
            return Err(Error::NoEffect { flag: "--pinned", with: "for a new task".to_owned() });
        }
        _ => {
            let new = new.request(description(new)?);
            let project = cli.app.files(&cli.app.source()?)?.read()?;
            preflight::check_new(&cli.app, &project, &new.means)?;
            (cli.app.create(store, &new)?, 0)
        }
    };
    run_task(cli, store, &task, after)
}

/// Returns an existing task, with the configuration it continues with.
fn known(cli: &Cli, store: &mut dyn Store, id: TaskId, new: &NewTask, pinned: bool) -> Result<Task, Error> {
    let task = store.task(id)?;
    let flags = [
        ("--workflow", new.means.workflow.is_some()),
        ("--description", new.description.is_some()),
        ("--base", new.base.is_some()),
        ("--priority", new.priority.is_some()),
        ("--tag", !new.tags.is_empty()),
        ("--size", new.size.is_some()),
        ("--complexity", new.complexity.is_some()),
        ("--ticket", new.ticket.is_some()),
        ("--meta", !new.metadata.is_empty()),
        ("--var", !new.variables.is_empty()),
    ];
    let flags: Vec<&str> = flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect();
    if !flags.is_empty() {
        return Err(Error::OnlyForNew { task: id, flags: flags.join(", ") });
    }
    let renewal = Renewal { pinned, means: new.means.clone().into(), limits: new.limits.into() };
    // A running leg keeps its configuration. The requested one applies from the next leg on.
    let running = store.legs(id)?.last().is_some_and(|leg| leg.state == acquit_core::leg::State::Running);
    let pinned = pinned || running || !matches!(task.state, State::Working { .. });
    let task = cli.app.decide_with(store, id, None, &Renewal { pinned, ..renewal })?;
    preflight_known(cli, store, &task)?;
    Ok(task)
}

/// Fails if the task's agents cannot be started here. Skips tasks that a harness already runs, as those are only
/// watched.
fn preflight_known(cli: &Cli, store: &mut dyn Store, task: &Task) -> Result<(), Error> {
    let State::Working { cancel: None, .. } = task.state else { return Ok(()) };
    if acquit_run::supervise::is_worked_on(&cli.app.runtime, store, task.id())? {
        return Ok(());
    }
    let definition = store.definition(task.id())?;
    preflight::check(&cli.app, &definition.config, &definition.workflow)
}

/// Runs a task in the store, and shows its progress after an event.
pub fn run_task(cli: &Cli, store: &mut dyn Store, task: &Task, after: i64) -> Result<Exit, Error> {
    let seed = &task.seed;
    let printer = cli.printer;
    printer.say(&format!(
        "{} {}\n{}\n",
        printer.paint(Look::Strong, &seed.id.to_string()),
        text::line(&task.listed_title(), 100),
        printer.paint(
            Look::Faint,
            &format!("workflow {} · branch {}", seed.workflow, text::visible(&seed.branch))
        ),
    ));
    let sandbox = store.definition(seed.id)?.config.sandbox;
    if sandbox == Mode::Off {
        printer.say(&format!("sandbox {}\n", printer.sandbox(sandbox)));
    }
    let task = match task.state {
        State::Working { .. } => {
            foreground::follow(&cli.app, printer, store, seed.id, Part::Runs, Level::Info, after)?
        }
        State::New | State::Waiting { .. } | State::Blocked { .. } | State::Ended { .. } => {
            store.task(seed.id)?
        }
    };
    let legs = store.legs(task.id())?;
    let dirty = cli.app.dirty_checkout(store, &task);
    printer.verdict(&task, &legs, dirty.as_deref());
    // Do this after the summary: removing a large workspace takes a while.
    if let State::Ended { end: End::Done } = task.state {
        let definition = store.definition(task.id())?;
        if let Err(error) = acquit_run::retention::clean(&cli.app.runtime, &definition, task.id()) {
            printer.warn(&format!(
                "the workspace is kept: {}",
                text::visible(&acquit_run::harness::chain(&error))
            ));
        }
    }
    acquit_run::retention::sweep_near(&cli.app.runtime, store, task.id())?;
    Ok(match task.state {
        // The user detached; the task continues on its own.
        State::Working { cancel: None, .. } => Exit::Done,
        ref state => Exit::of(state),
    })
}

/// Watches a running task, or continues one that does not run.
pub fn attach(cli: &Cli, id: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let task = store.task(id)?;
    preflight_known(cli, store, &task)?;
    let after = newest(store, id)?;
    run_task(cli, store, &task, after)
}

/// Returns the newest event before the leg that is ready now, so that continuing a task shows only what is new.
pub fn newest(store: &mut dyn Store, id: TaskId) -> Result<i64, Error> {
    /// Events per page.
    const PAGE: u32 = 1_000;
    let mut after = 0;
    loop {
        let events = store.events(Some(id), after, PAGE)?;
        let full = events.len() == PAGE as usize;
        // Show the event that readied the current leg again, as a heading.
        let current = if full {
            events.last()
        } else {
            events
                .iter()
                .rev()
                .find(|event| matches!(&event.body, Body::Change { change: Change::LegReadied { .. } }))
        };
        after = current.map_or(after, |event| if full { event.seq } else { event.seq - 1 });
        if !full {
            return Ok(after);
        }
    }
}

/// Returns the description, from the option or from stdin.
pub fn description(new: &NewTask) -> Result<String, Error> {
    match new.description.as_deref() {
        None => Ok(String::new()),
        Some("-") => {
            let mut text = String::new();
            let path = std::path::PathBuf::from("standard input");
            let file = |source| Error::File { doing: "read", path, source };
            std::io::stdin().take(DESCRIPTION_LIMIT).read_to_string(&mut text).map_err(file)?;
            Ok(text)
        }
        Some(text) => Ok(text.to_owned()),
    }
}
