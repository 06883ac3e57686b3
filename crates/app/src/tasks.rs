//! Looking at tasks: a list, and one in full.

use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::ids::TaskId;
use acquit_core::leg::Leg;
use acquit_core::sandbox::Mode;
use acquit_core::store::{Filter, Store, each_event};
use acquit_core::task::{Summary, Task};
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;

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
    /// The task.
    pub task: Task,
    /// Its legs, in order.
    pub legs: Vec<Leg>,
    /// Whether its programs run in a sandbox.
    pub sandbox: Mode,
    /// What each gate said last, in the order in which they were first run.
    pub gates: Vec<Verdict>,
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

/// At most `limit` of the tasks that are wanted.
pub fn list(store: &mut dyn Store, wanted: &Wanted, limit: u32) -> Result<Listed, Error> {
    let state = wanted.state.as_deref();
    if let Some(state) = state.filter(|state| !STATES.contains(state)) {
        return Err(Error::NoState { state: state.to_owned(), known: STATES.join(", ") });
    }
    // A task whose leg nobody runs is ready, not working.
    let running: Vec<TaskId> = store.running()?.into_iter().map(|(leg, _)| leg.id.task).collect();
    let stored = state.map(|state| if state == "ready" { "working" } else { state }.to_owned());
    let most = if wanted.looks_closer() { u32::MAX } else { limit.saturating_add(1) };
    let mut tasks = store.list(&Filter {
        project: wanted.project.clone(),
        state: stored,
        ended: true,
        limit: most.min(100_000),
    })?;
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

/// A task with its legs and what the gates said of it.
pub fn show(store: &mut dyn Store, id: TaskId) -> Result<Details, Error> {
    let task = store.task(id)?;
    let sandbox = store.definition(id)?.config.sandbox;
    Ok(Details { legs: store.legs(id)?, sandbox, gates: verdicts(store, id)?, task })
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
