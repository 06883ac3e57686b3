//! Drives one task: starts a harness when a leg is ready and none runs, and detects dead harnesses.
//!
//! The harness is a separate process that continues when its parent ends. So the driver may be killed at any time, and
//! another can take over.

use std::time::Duration;

use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::retention::Retention;
use acquit_core::store::Store;
use acquit_core::task::State;
use acquit_run::harness;
use acquit_run::process::Detached;
use acquit_run::room;
use acquit_run::supervise;

use crate::{App, Error};

/// Give up after this many harnesses in a row ended without any event.
const STALLS: u32 = 3;

/// Time limit for a harness whose task has ended, and the poll interval.
const LAST: Duration = Duration::from_secs(20);
const BEAT: Duration = Duration::from_millis(20);

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A harness was started, one runs, or nothing is due.
    Done,
    /// The leg that is due is left to workers.
    ForWorkers,
}

/// Drives one task.
#[derive(Default)]
pub struct Driver {
    harness: Option<Detached>,
    stalls: u32,
    retention: Option<Retention>,
}

impl Driver {
    /// Reports that the task made progress since the last step.
    pub fn moved(&mut self) {
        self.stalls = 0;
    }

    /// Starts a harness if the task needs one. Call it repeatedly while the task is working.
    pub fn step(&mut self, app: &App, store: &mut dyn Store, id: TaskId) -> Result<Step, Error> {
        if self.is_running()? {
            return Ok(Step::Done);
        }
        supervise::reap_lost(&app.runtime, store)?;
        supervise::release(store)?;
        let waits = store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Ready && !leg.cancel);
        if waits {
            store.check_version()?;
            room::check(&app.runtime, self.retention(app))?;
        }
        if !is_due(store, id)? {
            return Ok(Step::Done);
        }
        if harness::is_for_workers(&app.runtime, store, id)? {
            return Ok(Step::ForWorkers);
        }
        if !acquit_run::trusted_definitions::is_trusted(&app.runtime, store, id)? {
            return Err(acquit_run::trusted_definitions::Untrusted { task: id }.into());
        }
        self.stalls += 1;
        if self.stalls > STALLS {
            return Err(Error::Stalled { task: id, times: STALLS, log: app.runtime.harness_log(id) });
        }
        self.harness = Some(start(app, id, Start::Wished)?);
        Ok(Step::Done)
    }

    fn retention(&mut self, app: &App) -> &Retention {
        // Without a configuration that can be used, the usual limit holds.
        self.retention.get_or_insert_with(|| {
            let project = app.source().and_then(|source| app.files(&source)?.read());
            let config = project.map(|project| project.config).or_else(|_| app.user_config());
            config.map(|config| config.retention).unwrap_or_default()
        })
    }

    /// Waits until the harness has ended. Its task ends a moment earlier, and its files cannot be removed before.
    pub fn finish(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let deadline = store.now()?.plus(LAST);
        while self.is_running()? && store.now()? < deadline {
            store.wait(BEAT)?;
        }
        Ok(())
    }

    /// Returns whether the harness that was started last still runs.
    fn is_running(&mut self) -> Result<bool, Error> {
        let ended = match &mut self.harness {
            None => return Ok(false),
            Some(harness) => harness.has_ended()?,
        };
        if ended {
            self.harness = None;
        }
        Ok(!ended)
    }
}

/// Returns whether the task has a leg that can be claimed now.
pub fn is_due(store: &mut dyn Store, id: TaskId) -> Result<bool, Error> {
    let now = store.now()?;
    Ok(store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Ready && leg.not_before <= now))
}

/// Starts a queued task without waiting for a worker.
pub fn run_now(app: &App, store: &mut dyn Store, id: TaskId) -> Result<(), Error> {
    let task = store.task(id)?;
    let ready = store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Ready);
    if !matches!(task.state, State::Working { cancel: None, .. }) || !ready {
        return Err(Error::NotQueued { task: id, state: crate::tasks::word(store, &task)? });
    }
    let definition = store.definition(id)?;
    crate::preflight::check(app, &definition.config, &definition.workflow)?;
    if !is_due(store, id)? {
        return Err(Error::NotStarted { task: id, why: "its next leg is due later" });
    }
    match Driver::default().step(app, store, id)? {
        Step::Done => Ok(()),
        Step::ForWorkers => Err(Error::ForWorkers { task: id, why: crate::workers::why(store, id)? }),
    }
}

/// Why a harness is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A person asked for the task. Limits do not keep it waiting.
    Wished,
    /// It is the task's turn. The harness keeps to the limits of its pools.
    InTurn,
}

/// Starts a harness for a task. The harness then runs on its own.
pub fn start(app: &App, id: TaskId, why: Start) -> Result<Detached, Error> {
    let log = app.runtime.harness_log(id);
    let file = |source| Error::File { doing: "create the folder of", path: log.clone(), source };
    std::fs::create_dir_all(log.parent().unwrap_or(&log)).map_err(file)?;
    let mut args = vec!["leg".into(), "--task".into(), id.to_string().into()];
    if why == Start::InTurn {
        args.push("--in-turn".into());
    }
    Ok(app.runtime.spawner.detach(&args, app.harness_environment(), &log)?)
}
