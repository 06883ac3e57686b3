//! Removes from a worker's machine what it no longer needs: files of ended tasks, copies of repositories that no task used
//! for a while, and logs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acquit_core::ids::TaskId;
use acquit_core::retention::{Fate, Retention};
use acquit_core::store::{self, Store};
use acquit_core::time::Timestamp;
use acquit_run::fleet;
use acquit_run::workspace::remove_folder;

use crate::{App, Error};

/// How long a copy of a repository stays that no task uses.
const UNUSED: Duration = Duration::from_hours(14 * 24);
/// How long the output of a process that gets a repository stays. The process takes an hour at most.
const OBTAINED: Duration = Duration::from_hours(3);
/// Size at which a log is renamed, and replaces the one before.
const LOG: u64 = 8 << 20;

/// Removes what is no longer needed, until `deadline`. What is left then, or fails, is tried again by the next call.
pub(super) fn sweep(app: &App, store: &mut dyn Store, deadline: Instant) -> Result<(), Error> {
    let runtime = &app.runtime;
    let rule = app.user_config()?.retention;
    let now = store.now()?;
    // Copies that tasks on this machine build on.
    let (mut used, mut knows_all) = (BTreeSet::<PathBuf>::new(), true);
    for entry in entries(&runtime.tasks()) {
        if Instant::now() > deadline {
            return Ok(());
        }
        let task =
            entry.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<TaskId>().ok());
        let Some(task) = task else { continue };
        let needs = is_needed(store, task, &rule, now)
            .and_then(|needed| Ok((needed, store.definition(task)?.travel.repository)));
        match needs {
            Ok((false, _)) if remove_folder(&runtime.task_folder(task)).is_ok() => {}
            Ok((_, repository)) => used.extend(repository.map(|key| fleet::place(runtime, &key))),
            // A newer acquit wrote it: this one cannot know what the task needs.
            Err(store::Error::Corrupt { .. } | store::Error::NoTask(_)) => knows_all = false,
            Err(error) => return Err(error.into()),
        }
    }
    for copy in entries(&fleet::copies(runtime)) {
        let is_copy = copy.extension().is_some_and(|ending| ending == "git");
        if is_copy
            && knows_all
            && !used.contains(&copy)
            && age(&copy.join(fleet::USED)).is_some_and(|age| age > UNUSED)
        {
            // A copy that is half removed must not be used.
            let _ = std::fs::rename(&copy, copy.with_extension("gone"));
            let _ = std::fs::remove_file(copy.with_extension("lock"));
        }
        if copy.extension().is_some_and(|ending| ending == "gone") {
            let _ = remove_folder(&copy);
        }
    }
    for file in entries(&runtime.home) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_output = name.starts_with("obtain-") && file.extension().is_some_and(|ending| ending == "log");
        if is_output && age(&file).is_some_and(|age| age > OBTAINED) {
            let _ = std::fs::remove_file(&file);
        }
    }
    Ok(())
}

/// Returns whether the files of a task may be needed here. What a leg left is in the store before it ends.
fn is_needed(store: &mut dyn Store, id: TaskId, rule: &Retention, now: Timestamp) -> store::Result<bool> {
    let task = store.task(id)?;
    let ended = store.legs(id)?.iter().filter_map(|leg| leg.ended).max().unwrap_or(task.seed.created);
    Ok(match rule.fate(&task.state, ended) {
        Fate::Stays => true,
        Fate::From(moment) => moment > now,
        Fate::Goes => false,
    })
}

/// Starts a new log, if a log is long.
pub(super) fn turn_over(log: &Path) {
    if log.metadata().is_ok_and(|meta| meta.len() > LOG) {
        // If this fails, the log grows, and the next start tries again.
        let _ = std::fs::rename(log, log.with_extension("log.1"));
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns the age of a file. `None` if it is gone.
#[allow(clippy::disallowed_methods, reason = "the age of a file is measured by the clock that its disk has")]
fn age(path: &Path) -> Option<Duration> {
    let written = path.metadata().and_then(|meta| meta.modified()).ok()?;
    Some(std::time::SystemTime::now().duration_since(written).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_turned_over_and_a_short_one_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("worker-one.log");
        std::fs::write(&log, vec![b'x'; 10]).expect("a log");
        turn_over(&log);
        assert!(log.is_file());
        std::fs::write(&log, vec![b'x'; (8 << 20) + 1]).expect("a long log");
        turn_over(&log);
        let old = folder.path().join("worker-one.log.1");
        assert!(!log.exists() && old.metadata().is_ok_and(|meta| meta.len() > LOG));
    }
}
