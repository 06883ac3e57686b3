//! Removes the history of tasks that ended long ago: their transcripts, and all events but changes, from the store; their
//! logs and saved attempts from this machine. The task itself stays, with its cost, its verdicts and its branch.
//!
//! Each part may be killed at any time: what is left is found again. The folder of a task goes last.

use std::fs;

use acquit_core::ids::TaskId;
use acquit_core::retention::{Retention, Wish};
use acquit_core::store::{self, Store};
use acquit_core::task::State;
use acquit_core::time::Timestamp;

use crate::git::Source;
use crate::runtime::Runtime;
use crate::trusted_definitions;
use crate::untrusted::size;
use crate::workspace::remove_folder;

/// Maximum number of tasks to fold in one cleanup.
const AT_ONCE: u32 = 1_000;

/// History of a task, and the result for it.
#[derive(Debug)]
pub struct Old {
    /// The task.
    pub task: TaskId,
    /// Where it is.
    pub place: Place,
    /// Its size.
    pub bytes: u64,
    /// Result.
    pub verdict: Verdict,
}

/// Where a history is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Transcripts and events, in the store.
    Store,
    /// Logs and files of legs, and refs of attempts, on this machine.
    Home,
}

/// Result for a history.
#[derive(Debug)]
pub enum Verdict {
    /// Removed.
    Removed,
    /// It would be removed.
    Removable,
    /// Kept: the task goes on, or it is used.
    Needed,
    /// Removal failed.
    Refused(String),
}

/// Checks the history of tasks that ended long ago, and removes it.
pub fn sweep(
    runtime: &Runtime,
    store: &mut dyn Store,
    rule: &Retention,
    wish: Wish,
) -> store::Result<Vec<Old>> {
    let Some(history) = rule.history else { return Ok(Vec::new()) };
    let age = i64::try_from(history.duration().as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp(store.now()?.0.saturating_sub(age));
    let mut all = Vec::new();
    for (task, bytes) in store.foldable(before, AT_ONCE)? {
        let verdict = match wish {
            Wish::Look => Verdict::Removable,
            Wish::Clean => fold(store, task)?,
        };
        all.push(Old { task, place: Place::Store, bytes, verdict });
    }
    for entry in fs::read_dir(runtime.tasks()).into_iter().flatten().flatten() {
        let Some(task) = entry.file_name().to_str().and_then(|name| name.parse::<TaskId>().ok()) else {
            continue;
        };
        // A workspace is saved and removed by a rule of its own.
        if runtime.workspace_folder(task).exists() || !is_old(store, task, before)? {
            continue;
        }
        let bytes = size(&runtime.task_folder(task));
        let verdict = match wish {
            Wish::Look => Verdict::Removable,
            Wish::Clean => match clear(runtime, store, task) {
                Ok(()) => Verdict::Removed,
                Err(why) => Verdict::Refused(why),
            },
        };
        all.push(Old { task, place: Place::Home, bytes, verdict });
    }
    Ok(all)
}

fn fold(store: &mut dyn Store, id: TaskId) -> store::Result<Verdict> {
    let folded = store.task(id).and_then(|task| store.fold(&task));
    Ok(match folded {
        Ok(true) => Verdict::Removed,
        Ok(false) => Verdict::Needed,
        // A role may run legs and remove nothing; a newer acquit wrote the task.
        Err(error @ (store::Error::Database { .. } | store::Error::Corrupt { .. })) => {
            Verdict::Refused(acquit_core::failure::chain(&error))
        }
        Err(error) => return Err(error),
    })
}

/// Returns whether a task ended before a time and has not changed since.
fn is_old(store: &mut dyn Store, id: TaskId, before: Timestamp) -> store::Result<bool> {
    let task = match store.task(id) {
        Ok(task) => task,
        // It belongs to another store, or a newer acquit wrote it.
        Err(store::Error::NoTask(_) | store::Error::Corrupt { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    if !matches!(task.state, State::Ended { .. }) {
        return Ok(false);
    }
    let ended = store.legs(id)?.iter().filter_map(|leg| leg.ended).max().unwrap_or(task.seed.created);
    Ok(ended < before)
}

/// Removes the refs of a task's attempts, then its folder.
fn clear(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> Result<(), String> {
    let chain = |error: &(dyn std::error::Error + 'static)| acquit_core::failure::chain(error);
    let definition = store.definition(task).map_err(|error| chain(&error))?;
    // Only the machine that made the task has its repository.
    if trusted_definitions::check(runtime, task, &definition).is_ok()
        && let Ok(source) = Source::of(&definition)
    {
        source.forget_attempts(&runtime.git, runtime.store(), task).map_err(|error| chain(&error))?;
    }
    crate::fault::point("history", &runtime.environment);
    remove_folder(&runtime.task_folder(task)).map_err(|error| chain(&error))
}
