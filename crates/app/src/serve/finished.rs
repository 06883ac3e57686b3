//! Removes the workspaces of finished tasks in a separate process, because a large workspace takes long to remove.
//!
//! This list may be lost in a crash: the cleanup ([`super::sweep`]) finds every remaining workspace.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use acquit_core::ids::TaskId;
use acquit_run::process::Detached;
use acquit_run::retention;

use super::{Busy, Daemon, log};
use crate::app::App;
use crate::error::Error;

/// Maximum number of tasks per process, so that the arguments stay far below the limit of a command line.
const MOST: usize = 200;
/// Timeout of one process: enough for some million files on a slow disk.
const LIMIT: Duration = Duration::from_hours(1);

/// Finished tasks whose workspaces are to be removed, and the process that removes some of them.
#[derive(Default)]
pub(super) struct Finished {
    waiting: BTreeSet<TaskId>,
    process: Option<(Detached, Instant)>,
}

impl Finished {
    /// Adds a finished task.
    pub(super) fn add(&mut self, task: TaskId) {
        self.waiting.insert(task);
    }

    /// Ends the process.
    pub(super) fn end(&mut self) {
        if let Some((process, _)) = self.process.take() {
            process.end();
        }
    }
}

impl Daemon<'_> {
    /// Removes workspaces of finished tasks, with one process at a time.
    pub(super) fn clear(&mut self) -> Result<Busy, Error> {
        if let Some((process, since)) = &mut self.finished.process {
            let (over, late) = (process.has_ended().unwrap_or(true), since.elapsed() > LIMIT);
            if !over && !late {
                return Ok(Busy::Yes);
            }
            if !over {
                self.log("clean", "the workspaces of finished tasks could not be removed within an hour");
            }
            self.finished.end();
        }
        let these: Vec<TaskId> = self.finished.waiting.iter().take(MOST).copied().collect();
        if these.is_empty() {
            return Ok(Busy::No);
        }
        let names: Vec<String> = these.iter().map(ToString::to_string).collect();
        let words: Vec<&str> =
            std::iter::once("clean").chain(names.iter().flat_map(|name| ["--task", name])).collect();
        self.finished.process = Some((self.beside(&words)?, Instant::now()));
        for task in these {
            self.finished.waiting.remove(&task);
        }
        Ok(Busy::Yes)
    }
}

/// Removes the workspaces of these finished tasks, and logs failures. Runs in a process of the daemon.
pub fn remove(app: &App, tasks: &[TaskId]) -> Result<(), Error> {
    let mut store = app.store()?;
    for id in tasks {
        let definition = store.definition(*id)?;
        if let Err(error) = retention::clean(&app.runtime, &definition, *id) {
            let words = acquit_run::harness::chain(&error);
            log(app, "task", &format!("{id}: the workspace is kept: {words}"));
        }
    }
    Ok(())
}
