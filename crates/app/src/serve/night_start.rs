//! `acquit begin`: starts the work of a night in one repository, in a separate process.
//!
//! A remote or a forge may answer slowly or never, so the process that asks it must not block others. This process
//! reads the night from the store and writes the result there: the task id before it creates the task, or why it skips
//! the repository. It may be killed at any time, and several may run for the same repository; the night still gets only
//! one task.

use std::collections::BTreeMap;

use acquit_core::ids::{Name, TaskId};
use acquit_core::night::{Night, Progress, State, key, memory};
use acquit_core::schedule::Schedule;
use acquit_core::store::{self, Store};
use acquit_core::task::Actor;
use acquit_core::time::Timestamp;

use super::memory::{Branches, Earlier, Requests, earlier};
use super::nights::{date, find};
use super::rework::take_up;
use super::{Home, home::Place};
use crate::app::App;
use crate::error::Error;
use crate::options::Means;
use crate::task::{NewTask, Origin};

/// Maximum number of retries of a write to a night, because each of its repositories may have a process that writes to
/// it.
pub(super) const TRIES: u32 = 100;

/// A repository of a night.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// Project of the schedule.
    pub project: String,
    /// Schedule name.
    pub schedule: Name,
    /// Scheduled time of the night.
    pub nominal: Timestamp,
    /// Index of the repository in the night.
    pub job: usize,
}

/// Starts the work in the repository, or records why not.
pub fn start(app: &App, which: &Which) -> Result<(), Error> {
    let mut store = app.store()?;
    let store = store.as_mut();
    let home = Home::read(app)?.trusted()?;
    let which = &Which { project: home.project(), ..which.clone() };
    let schedule = home.schedule(&which.schedule)?;
    let Some(night) = find(store, &which.project, &which.schedule, which.nominal)? else { return Ok(()) };
    let Some(job) = night.jobs.get(which.job).filter(|_| night.state == State::Running) else {
        return Ok(());
    };
    let found = job.progress.clone();
    let before = match &found {
        Progress::Skipped { .. } | Progress::Again { .. } => return Ok(()),
        Progress::Task { task } if is_made(store, *task)? => return Ok(()),
        Progress::Task { .. } | Progress::Todo => found,
    };
    let Err(error) = make(app, &home, store, schedule, &night, which, &before) else { return Ok(()) };
    let Some(night) = find(store, &which.project, &which.schedule, which.nominal)? else { return Ok(()) };
    let now = night.jobs[which.job].progress.clone();
    // Another process created the same task, perhaps at the same moment: then the store refused this one's.
    if let Progress::Task { task } = now
        && is_made(store, task)?
    {
        return Ok(());
    }
    // Don't skip the repository because of a temporary error; the daemon retries.
    if matches!(error, Error::Store(_) | Error::OpenStore { .. }) {
        return Err(error);
    }
    let reason = format!("failed to {}", acquit_run::harness::chain(&error));
    write(store, which, &now, &Progress::Skipped { reason }).map(|_| ())
}

/// Creates the task of a repository.
fn make(
    app: &App,
    home: &Home,
    store: &mut dyn Store,
    schedule: &Schedule,
    night: &Night,
    which: &Which,
    before: &Progress,
) -> Result<(), Error> {
    let repository = &night.jobs[which.job].repository;
    let Place { source, project } = home.locate(app, repository)?;
    let path = source.project().to_string_lossy().into_owned();
    let fates = Requests {
        runtime: &app.runtime,
        config: &project.config,
        branches: Branches { git: &app.runtime.git, source: &source },
        away: std::cell::Cell::new(false),
    };
    let Earlier { proposals: known, open: requests } = earlier(store, &path, &schedule.workflow, &fates)?;
    // Don't ask a forge again for each pull request if it just did not answer.
    if !fates.away.get() {
        take_up(app, store, which, &requests)?;
    }
    let open = memory::open(&known);
    let id = match before {
        Progress::Task { task } => *task,
        Progress::Todo | Progress::Skipped { .. } | Progress::Again { .. }
            if open >= schedule.most_open as usize =>
        {
            let reason = format!("{open} requests of earlier nights are not yet decided");
            return write(store, which, before, &Progress::Skipped { reason }).map(|_| ());
        }
        Progress::Todo | Progress::Skipped { .. } | Progress::Again { .. } => {
            let id = store.reserve()?;
            match write(store, which, before, &Progress::Task { task: id })? {
                // Another process was faster, and may have died since: create the task under its id.
                Progress::Task { task } => task,
                Progress::Todo | Progress::Skipped { .. } | Progress::Again { .. } => return Ok(()),
            }
        }
    };
    let date = date(schedule, night.nominal);
    let words = schedule.title.clone().unwrap_or_else(|| schedule.name.to_string());
    let category = night.category.as_ref().map(|category| format!(": {category}")).unwrap_or_default();
    let new = NewTask {
        title: format!("{words} {date}{category}"),
        means: Means { workflow: Some(schedule.workflow.clone()), ..Means::default() },
        base: schedule.base.clone(),
        tags: vec![schedule.name.to_string()],
        description: memory::told(&known),
        ..NewTask::default()
    };
    let metadata = BTreeMap::from([
        (key::SCHEDULE.to_owned(), schedule.name.to_string()),
        (key::NIGHT.to_owned(), night.nominal.0.to_string()),
        (key::PROJECT.to_owned(), night.project.clone()),
        (key::REPOSITORY.to_owned(), repository.clone()),
        (key::EARLIER.to_owned(), serde_json::to_string(&known).unwrap_or_default()),
    ]);
    let origin = Origin {
        source,
        project,
        id: Some(id),
        category: night.category.clone(),
        metadata,
        by: Actor::Supervisor,
    };
    app.create_from(store, &new, origin).map(|_| ())
}

/// Writes the progress of a repository, if it has not changed since `before` was read. Returns the current progress,
/// regardless of who wrote it.
fn write(
    store: &mut dyn Store,
    which: &Which,
    before: &Progress,
    after: &Progress,
) -> Result<Progress, Error> {
    for _ in 0..TRIES {
        let Some(mut night) = find(store, &which.project, &which.schedule, which.nominal)? else { break };
        let progress = &mut night.jobs[which.job].progress;
        if progress != before || night.state != State::Running {
            return Ok(night.jobs[which.job].progress.clone());
        }
        *progress = after.clone();
        if store.keep(&night, &[])?.is_some() {
            return Ok(after.clone());
        }
    }
    Err(Error::BusyNight { schedule: which.schedule.clone() })
}

fn is_made(store: &mut dyn Store, task: TaskId) -> Result<bool, Error> {
    match store.task(task) {
        Ok(_) => Ok(true),
        Err(store::Error::NoTask(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
