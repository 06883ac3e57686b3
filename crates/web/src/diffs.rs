//! Cache of the last shown diffs. The diff of two commits never changes, so it is computed once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use acquit_app::diff::TaskDiff;
use acquit_app::{App, Error};
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_run::git::Form;

/// Maximum number of cached diffs: more than the inbox shows.
const KEPT: usize = 100;
/// Maximum total size of cached diffs, in bytes.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// How long a list does not retry a diff that could not be made. Each try starts git.
const FAILED: Duration = Duration::from_mins(1);

/// A diff and its two commits.
type Between = ((String, String), Arc<TaskDiff>);

/// The last shown diffs.
#[derive(Default)]
pub struct Diffs {
    shown: Mutex<VecDeque<Between>>,
    /// Tasks whose diff could not be made, and when.
    failed: Mutex<BTreeMap<TaskId, Instant>>,
}

impl Diffs {
    /// Returns the diff of a task's work for a list of tasks; `None` if it cannot be made.
    pub fn listed(&self, app: &App, store: &mut dyn Store, task: &Task) -> Option<Arc<TaskDiff>> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed().get(&task.id()).is_some_and(|when| when.elapsed() < FAILED) {
            return None;
        }
        let diff = self.get(app, store, task).ok();
        let mut failed = failed();
        failed.retain(|_, when| when.elapsed() < FAILED);
        if diff.is_none() {
            failed.insert(task.id(), Instant::now());
        }
        diff
    }

    /// Returns the diff of a task's work.
    pub fn get(&self, app: &App, store: &mut dyn Store, task: &Task) -> Result<Arc<TaskDiff>, Error> {
        let between = (task.base().to_owned(), task.tip.clone());
        let known = |kept: &VecDeque<Between>| {
            kept.iter().find(|(known, _)| *known == between).map(|(_, diff)| Arc::clone(diff))
        };
        if let Some(diff) = known(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(diff);
        }
        let diff = Arc::new(app.diff(store, task.id(), Form::Patch)?);
        // Don't cache the diff of a tree that is being changed.
        if diff.tip.is_some() {
            let mut kept = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back((between, Arc::clone(&diff)));
            let size = |kept: &VecDeque<Between>| kept.iter().map(|(_, diff)| diff.text.len()).sum::<usize>();
            while kept.len() > KEPT || (kept.len() > 1 && size(&kept) > KEPT_BYTES) {
                kept.pop_front();
            }
        }
        Ok(diff)
    }
}
