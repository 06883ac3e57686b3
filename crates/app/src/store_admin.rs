//! Operations on the whole store: back up, restore, move to another database, check, grant rights.

use std::path::Path;

use acquit_core::change::Change;
use acquit_core::event::Body;
use acquit_core::store::{self, Filter, Store};
use acquit_core::task::{Summary, Task};
use acquit_store::{Copied, Location};
use serde::Serialize;

use crate::{App, Error};

/// Number of transcript chunks to read at a time.
const CHUNKS: u32 = 100;

impl App {
    /// Writes a snapshot of the store to a new file, while tasks run.
    pub fn backup(&self, file: &Path) -> Result<Copied, Error> {
        Ok(acquit_store::backup(&self.location(), file)?)
    }

    /// Restores a backup into the store, which must be empty.
    pub fn restore(&self, file: &Path) -> Result<Copied, Error> {
        Ok(acquit_store::restore(file, &self.location())?)
    }

    /// Moves the store to another place, which must be empty. Afterwards the old store can no longer be used.
    pub fn move_store(&self, to: &Location) -> Result<Copied, Error> {
        Ok(acquit_store::move_to(&self.location(), to)?)
    }

    /// Gives a database role the rights of a worker, and no others.
    pub fn grant_worker(&self, role: &str) -> Result<(), Error> {
        Ok(acquit_store::grant_worker(&self.location(), role)?)
    }

    /// Reads everything in the store and checks its consistency.
    pub fn check_store(&self) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        for problem in acquit_store::integrity(&self.location()).map_err(acquit_store::CopyError::Open)? {
            checked.problems.push(Problem { task: None, problem });
        }
        let mut store = self.store()?;
        let everything = Filter { ended: true, limit: u32::MAX, ..Filter::default() };
        for summary in store.list(&everything)? {
            checked.tasks += 1;
            if let Err(problem) = check_task(store.as_mut(), &summary, &mut checked.events) {
                checked.problems.push(Problem { task: Some(summary.id.to_string()), problem });
            }
        }
        Ok(checked)
    }

    fn location(&self) -> Location {
        Location::parse(&self.surroundings.store)
    }
}

/// Result of a check of the store.
#[derive(Debug, Default, Serialize)]
pub struct Checked {
    /// Number of tasks read.
    pub tasks: u64,
    /// Number of events read.
    pub events: u64,
    /// Problems that were found.
    pub problems: Vec<Problem>,
}

/// An inconsistency in the store.
#[derive(Debug, Serialize)]
pub struct Problem {
    /// Affected task.
    pub task: Option<String>,
    /// Description.
    pub problem: String,
}

/// Reads a whole task. Replaying its events must give the stored task, and its transcripts must have no gaps.
fn check_task(store: &mut dyn Store, summary: &Summary, events: &mut u64) -> Result<(), String> {
    let words = |error: store::Error| acquit_run::harness::chain(&error);
    let task = store.task(summary.id).map_err(words)?;
    store.definition(summary.id).map_err(words)?;
    let mut changes: Vec<Change> = Vec::new();
    store::each_event(store, Some(summary.id), |event| {
        *events += 1;
        if let Body::Change { change } = event.body {
            changes.push(change);
        }
    })
    .map_err(words)?;
    let mut replayed = Task::replay(&changes).ok_or("its events do not begin with its creation")?;
    replayed.version = task.version;
    if replayed != task {
        return Err("its events lead to another state than the stored one".to_owned());
    }
    for leg in store.legs(summary.id).map_err(words)? {
        let mut from = 0;
        loop {
            let chunks = store.transcript(leg.id, from, CHUNKS).map_err(words)?;
            let Some(last) = chunks.last() else { break };
            for pair in chunks.windows(2) {
                if pair[0].to != pair[1].from {
                    return Err(format!(
                        "the transcript of leg {} has a gap at byte {}",
                        leg.id.number, pair[0].to
                    ));
                }
            }
            if last.to <= from {
                break;
            }
            from = last.to;
        }
    }
    Ok(())
}
