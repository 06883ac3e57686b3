//! `acquit task …`: look at tasks, add them, try them again, answer them, end them.

use acquit_core::decide::Input;
use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::ids::TaskId;
use acquit_core::request::Answer;
use acquit_core::store::{Filter, Store, each_event};

use crate::report::task::Listed;
use acquit_core::task::State;
use acquit_core::time::{Span, Timestamp};

use crate::args::TaskVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::{inbox, run};
use acquit_app::Error;
use acquit_app::renew::Renewal;

/// Does one of them.
pub fn task(cli: &Cli, verb: TaskVerb) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let printer = cli.printer;
    let task = match verb {
        TaskVerb::List { all_projects, state, tags, project: named, older_than, newer_than, limit } => {
            // A name is looked for among the tasks of all repositories, a path is a repository.
            let path = named.as_deref().filter(|named| named.contains('/'));
            let path = path.and_then(|path| std::fs::canonicalize(path).ok());
            let project = match (&path, all_projects || named.is_some()) {
                (Some(path), _) => Some(path.to_string_lossy().into_owned()),
                (None, true) => None,
                (None, false) => cli.app.project_here(),
            };
            let wanted = Wanted {
                state,
                tags,
                name: named.filter(|_| path.is_none()),
                before: older_than.map(|span| ago(store, span)).transpose()?,
                since: newer_than.map(|span| ago(store, span)).transpose()?,
            };
            let shown = listed(store, project, &wanted, limit)?;
            printer.tasks(&shown);
            return Ok(Exit::Done);
        }
        TaskVerb::Show { task } => return show(cli, task),
        TaskVerb::Add { task } => {
            let description = run::description(&task)?;
            let task = cli.app.create(store, &task.request(description))?;
            printer.say(&format!("added; `acquit run {}` runs it", task.id()));
            task
        }
        TaskVerb::Retry { task, stage, note, pinned } => {
            let input = Input::Retry { by: cli.app.person(), stage, note };
            let renewal = Renewal { pinned, ..Renewal::default() };
            let task = cli.app.decide_with(store, task, Some(&input), &renewal)?;
            printer.say(&format!("ready again; `acquit run {}` runs it", task.id()));
            task
        }
        TaskVerb::Answer { task, approve, reject, choose, text } => {
            let answer = match (approve, reject, choose, text.as_slice()) {
                (_, Some(reason), _, _) => Answer::Reject { reason },
                (_, _, Some(option), _) => Answer::Choose { option },
                (_, _, _, [text]) => Answer::Text { text: text.clone() },
                (_, _, _, [_, ..]) => Answer::Each { answers: text },
                (_, None, None, []) => Answer::Approve,
            };
            let known = store.task(task)?;
            inbox::give(cli, store, &known, answer, false)?
        }
        TaskVerb::Cancel { task } => {
            let task = cli.app.cancel(store, task)?;
            if let State::Working { .. } = task.state {
                printer.say(&format!("{}: its harness has been asked to stop", task.id()));
            }
            task
        }
    };
    if printer.json {
        printer.json(&task);
    } else {
        printer.data(&format!("{} {}", task.id(), task.state.word()));
    }
    Ok(Exit::Done)
}

/// The words for states by which tasks are listed.
pub const STATES: [&str; 9] =
    ["ready", "working", "cancelling", "waiting", "blocked", "done", "failed", "no_improvement", "cancelled"];

/// Which tasks of a project, or of all, are listed.
struct Wanted {
    state: Option<String>,
    /// All of them must be there.
    tags: Vec<String>,
    /// The repository's short name.
    name: Option<String>,
    before: Option<Timestamp>,
    since: Option<Timestamp>,
}

impl Wanted {
    /// Whether the store cannot say which ones these are.
    fn looks_closer(&self) -> bool {
        matches!(self.state.as_deref(), Some("ready" | "working"))
            || !self.tags.is_empty()
            || self.name.is_some()
            || self.before.is_some()
            || self.since.is_some()
    }
}

fn ago(store: &mut dyn Store, span: Span) -> Result<Timestamp, Error> {
    Ok(Timestamp(store.now()?.0.saturating_sub_unsigned(u64::from(span))))
}

/// The tasks of a project, or of all. One more than the limit says that there are more.
fn listed(
    store: &mut dyn Store,
    project: Option<String>,
    wanted: &Wanted,
    limit: u32,
) -> Result<Listed, Error> {
    let state = wanted.state.as_deref();
    if let Some(state) = state.filter(|state| !STATES.contains(state)) {
        return Err(Error::NoState { state: state.to_owned(), known: STATES.join(", ") });
    }
    // A task whose leg nobody runs is ready, not working.
    let running: Vec<TaskId> = store.running()?.into_iter().map(|(leg, _)| leg.id.task).collect();
    let stored = state.map(|state| if state == "ready" { "working" } else { state }.to_owned());
    let most = if wanted.looks_closer() { u32::MAX } else { limit.saturating_add(1) };
    let mut tasks = store.list(&Filter { project, state: stored, ended: true, limit: most.min(100_000) })?;
    for task in &mut tasks {
        if task.state == "working" && !running.contains(&task.id) {
            task.state = "ready".to_owned();
        }
    }
    tasks.retain(|task| {
        state.is_none_or(|state| task.state == state)
            && wanted.name.as_ref().is_none_or(|name| task.project == *name)
            && wanted.before.is_none_or(|moment| task.created <= moment)
            && wanted.since.is_none_or(|moment| task.created >= moment)
    });
    if !wanted.tags.is_empty() {
        let mut tagged = Vec::new();
        for task in tasks {
            let tags = store.task(task.id)?.seed.wish.tags;
            if wanted.tags.iter().all(|tag| tags.contains(tag)) {
                tagged.push(task);
            }
            // One more says that there are more.
            if tagged.len() > limit as usize {
                break;
            }
        }
        tasks = tagged;
    }
    let more = tasks.len() > limit as usize;
    tasks.truncate(limit as usize);
    Ok(Listed { tasks, more })
}

/// `acquit show`: one task in full, with its evidence and what can be done with it.
pub fn show(cli: &Cli, task: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let task = store.task(task)?;
    let sandbox = store.definition(task.id())?.config.sandbox;
    let gates = verdicts(store, task.id())?;
    cli.printer.task(&task, &store.legs(task.id())?, sandbox, &gates);
    Ok(Exit::Done)
}

/// What each gate said last, in the order in which they were first run.
fn verdicts(store: &mut dyn Store, task: TaskId) -> Result<Vec<Verdict>, Error> {
    let mut last: Vec<Verdict> = Vec::new();
    each_event(store, Some(task), |event| {
        let Body::Gate { verdict } = event.body else { return };
        match last.iter_mut().find(|known| known.gate == verdict.gate) {
            Some(known) => *known = *verdict,
            None => last.push(*verdict),
        }
    })?;
    Ok(last)
}
