//! The workspaces of tasks that are done: removed by a process beside the daemon, because that takes as long as a workspace is large.
//!
//! What is noted here may be forgotten: whoever cleans up later ([`super::sweep`]) finds every workspace that is left.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use acquit_core::ids::TaskId;
use acquit_run::process::Detached;
use acquit_run::retention;

use super::{Busy, Daemon, log};
use crate::app::App;
use crate::error::Error;

/// How many one process is told: what fits on a line of arguments many times over.
const MOST: usize = 200;
/// The longest that one process may take: some millions of files on a slow disk.
const LIMIT: Duration = Duration::from_hours(1);

/// Tasks that are done and whose workspaces are to go, and the process that removes some of them.
#[derive(Default)]
pub(super) struct Finished {
    waiting: BTreeSet<TaskId>,
    process: Option<(Detached, Instant)>,
}

impl Finished {
    /// Notes that a task is done.
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
    /// Sees to it that workspaces of tasks that are done go. One process at a time.
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

/// Removes the workspaces of these tasks, which are done, and says which could not be: a process of the daemon's.
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
