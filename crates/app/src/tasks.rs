//! Looking at tasks: a list, and one in full.

use std::collections::BTreeSet;

use acquit_core::event::SetupAgain;
use acquit_core::gate::Verdict;
use acquit_core::ids::TaskId;
use acquit_core::leg::Leg;
use acquit_core::sandbox::Mode;
use acquit_core::store::{Filter, Store};
use acquit_core::task::{Summary, Task};
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;
use crate::history::history;

/// The words for states by which tasks are listed.
pub const STATES: [&str; 9] =
    ["ready", "working", "cancelling", "waiting", "blocked", "done", "failed", "no_improvement", "cancelled"];

/// Which tasks are listed.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Those of the repository at this path; without one, of all repositories.
    pub project: Option<String>,
    /// Those in this state, one of [`STATES`].
    pub state: Option<String>,
    /// Those that have all of these tags.
    pub tags: Vec<String>,
    /// Those of repositories with this short name.
    pub name: Option<String>,
    /// Those added before this moment.
    pub before: Option<Timestamp>,
    /// Those added after this moment.
    pub since: Option<Timestamp>,
    /// Those of this workflow.
    pub workflow: Option<String>,
    /// Those with this text in their title or id.
    pub search: Option<String>,
    /// Those with a smaller id: where the page before ended.
    pub below: Option<TaskId>,
}

/// Some tasks, newest first.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The tasks.
    pub tasks: Vec<Summary>,
    /// Whether there are more.
    pub more: bool,
}

/// One task in full.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// Its state in a word, as lists show it: a task before a stage that cannot be undone is `blocked`.
    pub state: &'static str,
    /// The task.
    pub task: Task,
    /// Its legs, in order.
    pub legs: Vec<Leg>,
    /// Whether its programs run in a sandbox.
    pub sandbox: Mode,
    /// What each gate said last, in the order in which they were first run.
    pub gates: Vec<Verdict>,
    /// Setups that ran for changed lock files.
    pub setups: Vec<SetupAgain>,
}

impl Wanted {
    /// Whether the store cannot say which ones these are.
    fn looks_closer(&self) -> bool {
        matches!(self.state.as_deref(), Some("ready" | "working"))
            || !self.tags.is_empty()
            || self.name.is_some()
            || self.before.is_some()
            || self.since.is_some()
            || self.workflow.is_some()
            || self.search.is_some()
            || self.below.is_some()
    }

    /// Whether a task matches, as far as its summary tells.
    fn matches(&self, task: &Summary) -> bool {
        let found = |text: &String| {
            let text = text.to_lowercase();
            task.title.to_lowercase().contains(&text) || task.id.to_string().to_lowercase() == text
        };
        self.state.as_ref().is_none_or(|state| task.state == *state)
            && self.name.as_ref().is_none_or(|name| task.project == *name)
            && self.before.is_none_or(|moment| task.created <= moment)
            && self.since.is_none_or(|moment| task.created >= moment)
            && self.workflow.as_ref().is_none_or(|workflow| task.workflow.as_str() == workflow)
            && self.search.as_ref().is_none_or(found)
            && self.below.is_none_or(|id| task.id < id)
    }
}

/// At most `limit` of the tasks that are wanted.
pub fn list(store: &mut dyn Store, wanted: &Wanted, limit: u32) -> Result<Listed, Error> {
    let state = wanted.state.as_deref();
    if let Some(state) = state.filter(|state| !STATES.contains(state)) {
        let (name, known) = (state.to_owned(), STATES.join(", "));
        return Err(Error::NoSuch { doing: "list tasks in the state", name, known });
    }
    // A task whose leg nobody runs is ready, not working.
    let running: Vec<TaskId> = store.running()?.into_iter().map(|(leg, _)| leg.id.task).collect();
    let stored = state.map(|state| if state == "ready" { "working" } else { state }.to_owned());
    let most = if wanted.looks_closer() { u32::MAX } else { limit.saturating_add(1) };
    let filter =
        Filter { project: wanted.project.clone(), state: stored, ended: true, limit: most.min(100_000) };
    let mut tasks = store.list(&filter)?;
    for task in &mut tasks {
        if task.state == "working" && !running.contains(&task.id) {
            task.state = "ready".to_owned();
        }
    }
    tasks.retain(|task| wanted.matches(task));
    if !wanted.tags.is_empty() {
        let (mut tagged, mut seen) = (Vec::new(), BTreeSet::new());
        for task in tasks {
            let tags = store.task(task.id)?.seed.wish.tags;
            seen.extend(tags.iter().cloned());
            if wanted.tags.iter().all(|tag| tags.contains(tag)) {
                tagged.push(task);
            }
            // One more says that there are more.
            if tagged.len() > limit as usize {
                break;
            }
        }
        if tagged.is_empty() {
            refuse_unknown_tags(store, &filter, &wanted.tags, seen)?;
        }
        tasks = tagged;
    }
    let more = tasks.len() > limit as usize;
    tasks.truncate(limit as usize);
    Ok(Listed { tasks, more })
}

/// Refuses a tag that no task has, whatever its state: an empty list would look like an answer. `seen` are tags that some have.
fn refuse_unknown_tags(
    store: &mut dyn Store,
    filter: &Filter,
    wanted: &[String],
    mut seen: BTreeSet<String>,
) -> Result<(), Error> {
    let all = store.list(&Filter { state: None, ..filter.clone() })?;
    if all.is_empty() {
        return Ok(());
    }
    for task in all {
        seen.extend(store.task(task.id)?.seed.wish.tags);
    }
    let Some(name) = wanted.iter().find(|tag| !seen.contains(*tag)) else { return Ok(()) };
    let known: Vec<String> =
        if seen.is_empty() { vec!["none".to_owned()] } else { seen.into_iter().collect() };
    Err(Error::NoSuch { doing: "list tasks with the tag", name: name.clone(), known: known.join(", ") })
}

/// A task with its legs and what the gates said of it.
pub fn show(store: &mut dyn Store, id: TaskId) -> Result<Details, Error> {
    let task = store.task(id)?;
    let sandbox = store.definition(id)?.config.sandbox;
    let history = history(store, id)?;
    let gates = history.newest_verdicts().into_iter().cloned().collect();
    let (legs, setups) = (store.legs(id)?, history.setups);
    Ok(Details { state: task.state.word(), legs, sandbox, gates, setups, task })
}
