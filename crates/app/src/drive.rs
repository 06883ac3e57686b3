//! Keeping one task going: a harness is started when a leg is ready and none runs, and what died is found.
//!
//! The harness is a process of its own that goes on when its starter ends. So whoever drives a task may be killed at any time, and
//! another may drive it then.

use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::store::Store;
use acquit_run::harness;
use acquit_run::process::Detached;
use acquit_run::supervise;

use crate::{App, Error};

/// A harness that ends so often in a row without any event of its own will not do better.
const STALLS: u32 = 3;

/// Drives one task.
#[derive(Default)]
pub struct Driver {
    harness: Option<Detached>,
    stalls: u32,
}

impl Driver {
    /// Tells that the task got somewhere since the last step.
    pub fn moved(&mut self) {
        self.stalls = 0;
    }

    /// Starts a harness if the task needs one. To be called again and again while the task works.
    pub fn step(&mut self, app: &App, store: &mut dyn Store, id: TaskId) -> Result<(), Error> {
        if self.is_running()? {
            return Ok(());
        }
        supervise::reap_lost(&app.runtime, store)?;
        supervise::release(store)?;
        if !is_due(store, id)? || harness::is_for_workers(&app.runtime, store, id)? {
            return Ok(());
        }
        if !acquit_run::trusted_definitions::is_trusted(&app.runtime, store, id)? {
            return Err(acquit_run::trusted_definitions::Untrusted { task: id }.into());
        }
        self.stalls += 1;
        if self.stalls > STALLS {
            return Err(Error::Stalled { task: id, times: STALLS, log: app.runtime.harness_log(id) });
        }
        self.harness = Some(start(app, id)?);
        Ok(())
    }

    /// Whether the harness that was started last still runs.
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

/// Whether the task has a leg that could be claimed now.
pub fn is_due(store: &mut dyn Store, id: TaskId) -> Result<bool, Error> {
    let now = store.now()?;
    Ok(store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Ready && leg.not_before <= now))
}

/// Starts a harness for a task, which goes on by itself.
pub fn start(app: &App, id: TaskId) -> Result<Detached, Error> {
    let log = app.runtime.harness_log(id);
    let file = |source| Error::File { doing: "create the folder of", path: log.clone(), source };
    std::fs::create_dir_all(log.parent().unwrap_or(&log)).map_err(file)?;
    let args = ["leg".into(), "--task".into(), id.to_string().into()];
    Ok(app.runtime.spawner.detach(&args, app.harness_environment(), &log)?)
}
