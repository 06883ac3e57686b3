//! Merges the delivered work of a completed task into its base branch.
//!
//! A merge is a leg like any other and uses the same queue and gates as a merge by a workflow: it can be killed, and
//! others can merge meanwhile. A person asked for it, so it needs no further approval.

use std::path::PathBuf;

use acquit_core::artifact::Artifact;
use acquit_core::decide::Input;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_run::git::Source;
use acquit_run::trusted_definitions;

use crate::diff::is_published;
use crate::{App, Error};

/// Result of a request to merge.
#[derive(Clone, Debug)]
pub enum Merge {
    /// The branch already contains the work.
    Already {
        /// The branch.
        branch: String,
        /// The merge commit, if acquit merged it.
        commit: Option<String>,
    },
    /// The task has a leg that merges.
    Ready(Box<Task>),
}

impl App {
    /// Returns the checkout whose uncommitted changes keep a completed task from being merged, if there is one.
    pub fn dirty_checkout(&self, store: &mut dyn Store, task: &Task) -> Option<PathBuf> {
        let branch = task.seed.base.branch.as_ref()?;
        if task.state != (State::Ended { end: End::Done }) {
            return None;
        }
        let source = self.own_source(store, task.id()).ok()??;
        source.dirty_checkout(&self.runtime.git, branch).ok()?
    }

    /// Returns a task's repository on this machine. `None` if another machine created the task: its definition may name any path here.
    fn own_source(&self, store: &mut dyn Store, id: TaskId) -> Result<Option<Source>, Error> {
        let definition = store.definition(id)?;
        if trusted_definitions::check(&self.runtime, id, &definition).is_err() {
            return Ok(None);
        }
        let gone = |_| Error::NotDelivered { task: id, what: "its repository is not known any more" };
        Source::of(&definition).map(Some).map_err(gone)
    }

    /// Prepares the leg that merges a task's work.
    pub fn merge(&self, store: &mut dyn Store, id: TaskId) -> Result<Merge, Error> {
        let task = store.task(id)?;
        let merged = task.artifacts.iter().find_map(|artifact| match artifact {
            Artifact::Merged { branch, commit } => Some((branch.clone(), commit.clone())),
            _ => None,
        });
        if let (Some((branch, commit)), State::Ended { end: End::Done }) = (merged, &task.state) {
            return Ok(Merge::Already { branch, commit: Some(commit) });
        }
        let Some(branch) = &task.seed.base.branch else {
            return Err(Error::NoBaseBranch { task: id, work: task.seed.branch.clone() });
        };
        if let State::Ended { end: End::Done } = &task.state
            && let Some(source) = self.own_source(store, id)?
        {
            if is_in(self, &source, &task.tip, branch) && task.tip != task.base() {
                return Ok(Merge::Already { branch: branch.clone(), commit: None });
            }
            // Report this before a leg finds it, so that the caller can fix it right away.
            if let Some(at) = source.dirty_checkout(&self.runtime.git, branch)? {
                return Err(Error::DirtyCheckout { branch: branch.clone(), at });
            }
        }
        let task = match &task.state {
            // Someone already asked for the merge.
            State::Working { entry, .. } if entry.purpose == acquit_core::leg::Purpose::Merge => task,
            _ => self.decide(store, id, &Input::Merge)?,
        };
        Ok(Merge::Ready(Box::new(task)))
    }
}

/// Returns whether a finished task has work that is not merged yet.
pub fn can_merge(task: &Task) -> bool {
    let merged = task.artifacts.iter().any(|artifact| matches!(artifact, Artifact::Merged { .. }));
    !merged && is_published(task) && task.tip != task.base() && task.seed.base.branch.is_some()
}

/// Returns whether a branch contains a commit, regardless of who merged it.
fn is_in(app: &App, source: &Source, commit: &str, branch: &str) -> bool {
    let head = format!("refs/heads/{branch}");
    let call = app.runtime.git.call("merge-base").inside(source.path());
    call.args(["--is-ancestor", commit, &head]).run().is_ok()
}
