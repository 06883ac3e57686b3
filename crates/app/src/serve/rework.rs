//! Continues tasks of earlier nights whose pull requests received comments or failed checks, as part of the next night.
//!
//! People review a pull request in the morning, and a check may fail long after the daemon has moved on. So the next
//! night asks the forge about every open pull request of its schedule. Each task with something to do is recorded as a
//! part of that night before it continues, so that it is run, counted and reported with the night. Comments have ids,
//! so nothing is handled twice even if the process is killed.

use acquit_core::agent::Usage;
use acquit_core::decide::{Input, decide};
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::Leg;
use acquit_core::night::{Job, Night, Progress, State as NightState, key};
use acquit_core::outcome::CHANGES_REQUESTED;
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::{Action, Work, Workflow};

use super::log;
use super::night_start::{TRIES, Which};
use super::nights::find;
use crate::app::App;
use crate::error::Error;

/// Maximum number of pull requests to check in one night, newest first: more than anyone leaves open.
const MOST: usize = 20;

/// Handles feedback on pull requests of earlier nights. `open` are the tasks with open pull requests.
pub(super) fn take_up(app: &App, store: &mut dyn Store, which: &Which, open: &[Task]) -> Result<(), Error> {
    let of_schedule = |task: &&Task| {
        let named = task.seed.wish.metadata.get(key::SCHEDULE);
        named.is_some_and(|name| name == which.schedule.as_str())
            && matches!(task.state, State::Ended { end: End::Done })
    };
    for task in open.iter().filter(of_schedule).take(MOST) {
        let id = task.id();
        let definition = store.definition(id)?;
        if !leads_on(&definition.workflow)
            || acquit_run::trusted_definitions::check(&app.runtime, id, &definition).is_err()
        {
            continue;
        }
        let comments = match acquit_run::forge::feedback(&app.runtime, task, &definition) {
            Ok(comments) => comments,
            Err(error) => {
                // The next night asks again. Tonight's work does not depend on it.
                let words = acquit_run::harness::chain(&error);
                log(app, "night", &format!("{id}: what was said about its request is not known: {words}"));
                return Ok(());
            }
        };
        let count = comments.len();
        let input = Input::Feedback { comments };
        let goes_on = decide(task, &definition.workflow, input.clone());
        if !goes_on.is_ok_and(|changes| !changes.is_empty()) || !join(store, which, id)? {
            continue;
        }
        match app.decide(store, id, &input) {
            Ok(_) => log(app, "night", &format!("{id} goes on: {count} comments on its request")),
            // The task was retried or merged by hand a moment ago.
            Err(Error::Illegal { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns whether a workflow handles comments on a pull request.
fn leads_on(workflow: &Workflow) -> bool {
    let wanted = Name::literal(CHANGES_REQUESTED);
    workflow.stages.iter().any(|stage| {
        matches!(stage.work, Work::Action { action: Action::Publish(_), .. })
            && stage.on.contains_key(&wanted)
    })
}

/// Adds an earlier task to the night. Returns whether it is part of the night.
fn join(store: &mut dyn Store, which: &Which, task: TaskId) -> Result<bool, Error> {
    let again = Progress::Again { task };
    for _ in 0..TRIES {
        let Some(mut night) = find(store, &which.project, &which.schedule, which.nominal)? else {
            return Ok(false);
        };
        if night.jobs.iter().any(|job| job.progress == again) {
            return Ok(true);
        }
        if night.state != NightState::Running {
            return Ok(false);
        }
        let repository = night.jobs[which.job].repository.clone();
        night.jobs.push(Job { repository, progress: again.clone() });
        if store.keep(&night, &[])?.is_some() {
            return Ok(true);
        }
    }
    Err(Error::BusyNight { schedule: which.schedule.clone() })
}

/// Returns the legs of a task that belong to a night: those since the night began, or all legs of a task it created.
pub(super) fn since(night: &Night, task: TaskId, legs: Vec<Leg>) -> Vec<Leg> {
    if !night.jobs.iter().any(|job| job.progress == (Progress::Again { task })) {
        return legs;
    }
    let began = night.began.unwrap_or(night.nominal);
    legs.into_iter().filter(|leg| leg.started.is_none_or(|started| started >= began)).collect()
}

/// Returns the total usage of the legs.
pub(super) fn used(legs: &[Leg]) -> Usage {
    let mut total = Usage::default();
    legs.iter().for_each(|leg| total.add(&leg.usage));
    total
}
