//! Collects the proposals of earlier nights in a repository, and their results.

use std::cell::Cell;

use acquit_core::artifact::Artifact;
use acquit_core::config::Config;
use acquit_core::ids::Name;
use acquit_core::night::key;
use acquit_core::night::memory::{self, Fate, Proposal};
use acquit_core::store::{Filter, Store};
use acquit_core::task::Task;
use acquit_run::forge::{self, PullRequestStatus};
use acquit_run::git::{CommitId, Git, Source, Stands};
use acquit_run::runtime::Runtime;

use crate::error::Error;

/// Maximum number of tasks of a repository to read, newest first: some months of nights.
const TASKS: u32 = 200;

/// Finds the result of a task's work. A forge knows pull requests; a repository knows only branches.
pub(super) trait Fates {
    /// Returns the result, if known.
    fn fate(&self, task: &Task) -> Option<Fate>;
}

/// Status from the repository alone: a branch is merged, exists, or is gone.
pub(super) struct Branches<'g> {
    pub(super) git: &'g Git,
    pub(super) source: &'g Source,
}

impl Fates for Branches<'_> {
    fn fate(&self, task: &Task) -> Option<Fate> {
        let (branch, commit) = task.artifacts.iter().find_map(|artifact| match artifact {
            Artifact::Branch { name, commit, published: true } => Some((name, commit)),
            _ => None,
        })?;
        let commit: CommitId = commit.parse().ok()?;
        let base = task.seed.base.branch.as_deref();
        Some(match self.source.stands(self.git, branch, &commit, base).ok()? {
            Stands::Merged => Fate::Merged,
            Stands::Open => Fate::Open,
            Stands::Gone => Fate::Closed,
        })
    }
}

/// Status from the forge, for pull requests that the repository does not show as merged.
pub(super) struct Requests<'w> {
    pub(super) runtime: &'w Runtime,
    pub(super) config: &'w Config,
    pub(super) branches: Branches<'w>,
    /// Whether the forge was unreachable. Then it is not asked again for each of some sixty pull requests.
    pub(super) away: Cell<bool>,
}

impl Fates for Requests<'_> {
    fn fate(&self, task: &Task) -> Option<Fate> {
        let seen = self.branches.fate(task);
        if seen == Some(Fate::Merged) || task.request().is_none() {
            return seen;
        }
        // Without an answer from the forge the pull request counts as open, so nothing is proposed twice.
        let undecided = seen.or(Some(Fate::Open));
        if self.away.get() {
            return undecided;
        }
        match forge::status(self.runtime, self.config, self.branches.source, task) {
            Ok(Some(PullRequestStatus::Open)) => Some(Fate::Open),
            Ok(Some(PullRequestStatus::Merged)) => Some(Fate::Merged),
            Ok(Some(PullRequestStatus::Closed)) => Some(Fate::Closed),
            Err(forge::Error::Away { .. } | forge::Error::Busy { .. }) => {
                self.away.set(true);
                undecided
            }
            Ok(None) | Err(_) => undecided,
        }
    }
}

/// The results of earlier nights in a repository.
pub(super) struct Earlier {
    /// Earlier proposals, newest first.
    pub(super) proposals: Vec<Proposal>,
    /// Tasks with open pull requests.
    pub(super) open: Vec<Task>,
}

/// Returns what scheduled tasks proposed in the repository at this path.
pub(super) fn earlier(
    store: &mut dyn Store,
    project: &str,
    workflow: &Name,
    fates: &dyn Fates,
) -> Result<Earlier, Error> {
    let filter = Filter { project: Some(project.to_owned()), ended: true, limit: TASKS, ..Filter::default() };
    let (mut all, mut open) = (Vec::new(), Vec::new());
    for summary in store.list(&filter)? {
        if summary.workflow != *workflow || all.len() >= memory::MOST {
            continue;
        }
        let task = store.task(summary.id)?;
        if task.seed.wish.metadata.contains_key(key::SCHEDULE) {
            let last = fates.fate(&task);
            all.extend(memory::proposals(&task, last));
            if last == Some(Fate::Open) && task.request().is_some() {
                open.push(task);
            }
        }
    }
    all.truncate(memory::MOST);
    Ok(Earlier { proposals: all, open })
}

/// Returns the URL of a task's pull request, if it has one.
pub(super) fn link(task: &Task) -> Option<String> {
    task.request().map(|request| request.url.clone())
}
