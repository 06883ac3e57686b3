//! Removes workspaces that are no longer needed: finds them on disk, applies the rule ([`acquit_core::retention`]),
//! saves their content and removes them.
//!
//! [`clean`] is for a task that has just completed, [`sweep`] for all remaining ones. A sweep looks at the disk, so its
//! cost does not grow with the age of the store. A workspace in use is locked, and the state of its task is read again
//! under the lock, so nothing of a live task is touched.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::definition::Definition;
use acquit_core::ids::TaskId;
use acquit_core::retention::{Fate, Retention, Room};
use acquit_core::store::{self, Store};
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;

use crate::git::{self, Source};
use crate::harness;
use crate::secrets::Redactor;
pub use acquit_core::retention::Wish;

use crate::runtime::Runtime;
use crate::untrusted::size;
use crate::workspace::{self, LockedWorkspace, Workspace, remove_folder};

/// Number of tasks that [`sweep_near`] checks.
const NEAR: u64 = 32;
/// How long another process may take to remove the same workspace.
const CLEANING: Duration = Duration::from_secs(10);

/// A workspace and the result for it.
#[derive(Debug)]
pub struct Entry {
    /// Task of the workspace.
    pub task: TaskId,
    /// State of the task.
    pub state: &'static str,
    /// Disk usage, before removal.
    pub bytes: u64,
    /// Result.
    pub verdict: Verdict,
}

/// Result for a workspace.
#[derive(Debug)]
pub enum Verdict {
    /// Removed, and its content is saved.
    Removed,
    /// It would be removed.
    Removable,
    /// Kept: the task has not ended.
    Needed,
    /// Kept until this time, if there is space.
    Until(Timestamp),
    /// Removal failed.
    Refused(RetentionError),
}

/// Why a workspace could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// It cannot or must not be removed.
    #[error("remove the workspace")]
    Workspace(#[from] workspace::Error),
    /// An operation in the user's repository failed.
    #[error("remove the ref that kept the base")]
    Git(#[from] git::Error),
    /// The task does not say where its repository is.
    #[error(transparent)]
    Source(#[from] crate::git::Unplaced),
    /// Someone else wrote the task's definition.
    #[error(transparent)]
    Untrusted(#[from] crate::trusted_definitions::Untrusted),
    /// The task was resumed in the meantime.
    #[error("remove the workspace: the task goes on")]
    GoesOn,
}

/// Removes the workspace of a completed task: its work is in the user's repository. All other workspaces are kept,
/// because their tasks can be retried. Fails if anything in it exists nowhere else.
pub fn clean(runtime: &Runtime, definition: &Definition, task: TaskId) -> Result<(), RetentionError> {
    crate::fault::point("finished", &runtime.environment);
    // The task's harness does the same; the order does not matter.
    let _ = remove_folder(&runtime.agent_homes(task));
    if !runtime.workspace_folder(task).exists() {
        return Ok(());
    }
    let (source, locked) = locked(runtime, definition, task, CLEANING)?;
    remove_gate_trees(runtime, task);
    locked.remove_after(&source, || source.unpin(&runtime.git, runtime.store(), task))?;
    Ok(())
}

/// Removes the trees of gates that were killed with their harness.
fn remove_gate_trees(runtime: &Runtime, task: TaskId) {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    for leg in entries(runtime.task_folder(task).join("legs")) {
        for entry in entries(leg.path()) {
            if entry.file_name().to_string_lossy().starts_with("tree-") {
                // If it cannot be removed, it is removed with the task.
                let _ = remove_folder(&entry.path());
            }
        }
    }
}

/// Removes the workspaces of completed tasks just before `id` whose runner was killed before it could. Checks a fixed
/// number of tasks, so the cost does not depend on their total; [`sweep`] checks all.
pub fn sweep_near(runtime: &Runtime, store: &mut dyn Store, id: TaskId) -> store::Result<()> {
    for id in (id.0.saturating_sub(NEAR).max(1)..id.0).map(TaskId) {
        if !has_something(runtime, id) {
            continue;
        }
        let over = match store.task(id) {
            Ok(task) => matches!(task.state, State::Ended { end: End::Done | End::NoImprovement }),
            Err(store::Error::NoTask(_)) => false,
            Err(error) => return Err(error),
        };
        if over {
            // `acquit clean` lists what cannot be removed now.
            remove(runtime, store, id)?;
        }
    }
    Ok(())
}

/// Removes all files of a task that no store keeps.
pub fn forget(runtime: &Runtime, source: &Source, task: TaskId) -> Result<(), RetentionError> {
    source.unpin(&runtime.git, runtime.store(), task)?;
    forget_files(runtime, task)
}

/// Does the same for a task whose whole repository is removed.
pub fn forget_files(runtime: &Runtime, task: TaskId) -> Result<(), RetentionError> {
    let folder = runtime.task_folder(task);
    if folder.exists() {
        remove_folder(&folder)?;
    }
    // Fails if there are other tasks.
    let _ = fs::remove_dir(runtime.tasks());
    Ok(())
}

/// Checks every workspace on this machine whose task the store knows, and removes those that are no longer needed.
pub fn sweep(
    runtime: &Runtime,
    store: &mut dyn Store,
    rule: &Retention,
    wish: Wish,
) -> store::Result<Vec<Entry>> {
    if wish == Wish::Clean {
        crate::gate::sweep_unfinished(&runtime.home);
    }
    let mut found: Vec<(Task, Room)> = Vec::new();
    for id in on_disk(runtime) {
        let task = match store.task(id) {
            Ok(task) => task,
            // It belongs to another store that uses the same directory.
            Err(store::Error::NoTask(_)) => continue,
            Err(error) => return Err(error),
        };
        if wish == Wish::Clean {
            crate::ended::clean_up(runtime, store, &task)?;
        }
        let legs = store.legs(id)?;
        let ended = legs.iter().filter_map(|leg| leg.ended).max().unwrap_or(task.seed.created);
        let fate = rule.fate(&task.state, ended);
        let bytes = size(&runtime.workspace_folder(id)) + size(&runtime.agent_homes(id));
        found.push((task, Room { task: id, bytes, fate }));
    }
    let rooms: Vec<Room> = found.iter().map(|(_, room)| *room).collect();
    let going = rule.now(&rooms, store.now()?);
    let mut entries = Vec::new();
    for (task, room) in found {
        let verdict = match (going.contains(&room.task), wish, room.fate) {
            (true, Wish::Look, _) => Verdict::Removable,
            (true, Wish::Clean, _) => remove(runtime, store, room.task)?,
            (false, _, Fate::From(moment)) => Verdict::Until(moment),
            (false, _, Fate::Stays | Fate::Goes) => Verdict::Needed,
        };
        entries.push(Entry { task: room.task, state: task.state.word(), bytes: room.bytes, verdict });
    }
    Ok(entries)
}

/// Returns the tasks with something on disk that could be removed.
fn on_disk(runtime: &Runtime) -> Vec<TaskId> {
    let mut all: Vec<TaskId> = fs::read_dir(runtime.tasks())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| has_something(runtime, *id))
        .collect();
    all.sort();
    all
}

fn has_something(runtime: &Runtime, task: TaskId) -> bool {
    runtime.workspace_folder(task).exists() || runtime.agent_homes(task).exists()
}

/// Saves the content of a workspace and removes it, together with the homes of the task's agents.
fn remove(runtime: &Runtime, store: &mut dyn Store, id: TaskId) -> store::Result<Verdict> {
    let definition = store.definition(id)?;
    let (source, locked) = match locked(runtime, &definition, id, Duration::ZERO) {
        Ok(both) => both,
        Err(trouble) => return Ok(Verdict::Refused(trouble)),
    };
    // Read under the lock: a process that resumed the task waits for us, and finds the workspace gone.
    let task = store.task(id)?;
    let State::Ended { end } = &task.state else { return Ok(Verdict::Refused(RetentionError::GoesOn)) };
    remove_gate_trees(runtime, id);
    let redactor = harness::redactor(runtime, &definition, &task);
    let retired = retire(runtime, id, end, &source, locked, &redactor);
    Ok(retired.map_or_else(Verdict::Refused, |()| Verdict::Removed))
}

fn retire(
    runtime: &Runtime,
    id: TaskId,
    end: &End,
    source: &Source,
    locked: LockedWorkspace,
    redactor: &Redactor,
) -> Result<(), RetentionError> {
    crate::fault::point("clean", &runtime.environment);
    locked.retire(source, &format!("{id}-left"), redactor, || match end {
        // It is never retried, so its base is not needed.
        End::Done => source.unpin(&runtime.git, runtime.store(), id),
        End::NoImprovement | End::Failed { .. } | End::Cancelled { .. } => Ok(()),
    })?;
    crate::fault::point("clean", &runtime.environment);
    remove_folder(&runtime.agent_homes(id))?;
    crate::fault::point("clean", &runtime.environment);
    Ok(())
}

/// Locks the workspace of a task. Also returns the repository that it was made from.
fn locked(
    runtime: &Runtime,
    definition: &Definition,
    task: TaskId,
    patience: Duration,
) -> Result<(Source, LockedWorkspace), RetentionError> {
    crate::trusted_definitions::check(runtime, task, definition)?;
    let source = Source::of(definition)?;
    let workspace =
        Workspace::open(&runtime.workspace_folder(task), &source, runtime.git.clone(), runtime.store())?;
    Ok((source, workspace.lock_within("acquit, cleaning up", patience)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_takes_what_its_files_take_and_nothing_of_what_links_lead_to() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(size(&dir.path().join("none")), 0);
        let folder = dir.path().join("folder");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(dir.path().join("outside"), vec![1; 1 << 20]).unwrap();
        std::os::unix::fs::symlink(dir.path().join("outside"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), folder.join("round")).unwrap();
        fs::write(folder.join("deep/file"), vec![1; 64 << 10]).unwrap();
        let taken = size(&folder);
        assert!((64 << 10..1 << 20).contains(&taken), "{taken}");
    }
}
