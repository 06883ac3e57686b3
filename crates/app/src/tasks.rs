//! Lists tasks and shows one in full.

use std::collections::BTreeSet;

use acquit_core::event::SetupAgain;
use acquit_core::gate::Verdict;
use acquit_core::ids::TaskId;
use acquit_core::leg::{self, Leg};
use acquit_core::sandbox::Mode;
use acquit_core::store::{Filter, Store};
use acquit_core::task::{Summary, Task};
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;
use crate::history::history;

/// State names to filter tasks by.
pub const STATES: [&str; 9] =
    ["ready", "working", "cancelling", "waiting", "blocked", "done", "failed", "no_improvement", "cancelled"];

/// Number of newest tasks whose tags are named if a tag is unknown.
const NEWEST: u32 = 500;

/// Maximum number of tasks to read for the projects that there are.
const MOST: u32 = 100_000;

/// Selects the tasks to list.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Path of the repository; `None` for all repositories.
    pub project: Option<String>,
    /// State, one of [`STATES`].
    pub state: Option<String>,
    /// Tags that a task must all have.
    pub tags: Vec<String>,
    /// Short name of the repository.
    pub name: Option<String>,
    /// Added at or before this time.
    pub before: Option<Timestamp>,
    /// Added at or after this time.
    pub since: Option<Timestamp>,
    /// Workflow.
    pub workflow: Option<String>,
    /// Text in the title, or the id.
    pub search: Option<String>,
    /// Upper bound of the id: the last id of the previous page.
    pub below: Option<TaskId>,
}

/// A list of tasks, newest first.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The tasks.
    pub tasks: Vec<Summary>,
    /// Whether there are more.
    pub more: bool,
}

/// A task in full.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// State in one word, as lists show it. A task before an irreversible stage is `blocked`.
    pub state: &'static str,
    /// The task.
    pub task: Task,
    /// Legs, in order.
    pub legs: Vec<Leg>,
    /// Whether its programs run in a sandbox.
    pub sandbox: Mode,
    /// Newest verdict of each gate, in the order of their first run.
    pub gates: Vec<Verdict>,
    /// Setups that ran because of changed lock files.
    pub setups: Vec<SetupAgain>,
}

/// Returns at most `limit` of the selected tasks.
pub fn list(store: &mut dyn Store, wanted: &Wanted, limit: u32) -> Result<Listed, Error> {
    let state = wanted.state.as_deref();
    if let Some(state) = state.filter(|state| !STATES.contains(state)) {
        let (name, known) = (state.to_owned(), STATES.join(", "));
        return Err(Error::NoSuch { doing: "list tasks in the state", name, known });
    }
    let filter = Filter {
        project: wanted.project.clone(),
        state: state.map(|state| if state == "ready" { "working" } else { state }.to_owned()),
        running: match state {
            Some("ready") => Some(false),
            Some("working") => Some(true),
            _ => None,
        },
        ended: true,
        name: wanted.name.clone(),
        workflow: wanted.workflow.clone(),
        before: wanted.before,
        since: wanted.since,
        below: wanted.below,
        tags: wanted.tags.clone(),
        search: wanted.search.clone(),
        // One task beyond the limit shows that there are more.
        limit: limit.saturating_add(1),
    };
    let mut tasks = store.list(&filter)?;
    // A task whose leg is not running is ready, not working.
    let running: BTreeSet<TaskId> = store.running()?.into_iter().map(|(leg, _)| leg.id.task).collect();
    let runs = |task: &Summary| filter.running.unwrap_or_else(|| running.contains(&task.id));
    for task in tasks.iter_mut().filter(|task| task.state == "working" && !runs(task)) {
        task.state = "ready".to_owned();
    }
    if tasks.is_empty() {
        refuse_unknown_tags(store, wanted)?;
    }
    let more = tasks.len() > limit as usize;
    tasks.truncate(limit as usize);
    Ok(Listed { tasks, more })
}

/// Rejects a project that no task belongs to: an empty list would look like a valid answer.
pub fn refuse_unknown_project(store: &mut dyn Store, name: &str) -> Result<(), Error> {
    let one = |name: Option<String>| Filter { name, ended: true, limit: 1, ..Filter::default() };
    if !store.list(&one(Some(name.to_owned())))?.is_empty() {
        return Ok(());
    }
    let all = store.list(&Filter { limit: MOST, ..one(None) })?;
    let known: BTreeSet<&str> = all.iter().map(|task| task.project.as_str()).collect();
    if known.is_empty() {
        return Ok(());
    }
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    Err(Error::NoSuch { doing: "list tasks of the project", name: name.to_owned(), known })
}

/// Rejects a tag that no task has, in any state: an empty list would look like a valid answer.
fn refuse_unknown_tags(store: &mut dyn Store, wanted: &Wanted) -> Result<(), Error> {
    let of_project = |tags: Vec<String>, limit| {
        let project = wanted.project.clone();
        Filter { project, tags, ended: true, limit, ..Filter::default() }
    };
    for tag in &wanted.tags {
        if !store.list(&of_project(vec![tag.clone()], 1))?.is_empty() {
            continue;
        }
        let newest = store.list(&of_project(Vec::new(), NEWEST))?;
        // Without any task there is nothing to choose from.
        if newest.is_empty() {
            return Ok(());
        }
        let mut known = BTreeSet::new();
        for task in &newest {
            known.extend(store.task(task.id)?.seed.wish.tags);
        }
        let known: Vec<String> = known.into_iter().collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Error::NoSuch { doing: "list tasks with the tag", name: tag.clone(), known });
    }
    Ok(())
}

/// Returns a task with its legs and the verdicts of its gates.
pub fn show(store: &mut dyn Store, id: TaskId) -> Result<Details, Error> {
    let task = store.task(id)?;
    let sandbox = store.definition(id)?.config.sandbox;
    let history = history(store, id)?;
    let gates = history.newest_verdicts().into_iter().cloned().collect();
    let (legs, setups) = (store.legs(id)?, history.setups);
    let state = word_among(&task, &legs);
    Ok(Details { state, task, legs, sandbox, gates, setups })
}

/// Returns a task's state as one word: a task without a running leg is ready, not working.
pub fn word(store: &mut dyn Store, task: &Task) -> Result<&'static str, Error> {
    Ok(word_among(task, &store.legs(task.id())?))
}

fn word_among(task: &Task, legs: &[Leg]) -> &'static str {
    let runs = legs.iter().any(|leg| leg.state == leg::State::Running);
    if runs { task.state.word() } else { task.state.idle_word() }
}
