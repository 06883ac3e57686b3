//! What earlier nights proposed in a repository, gathered from the store, and what became of it.

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

/// How many tasks of a repository are looked at, newest first: some months of nights.
const TASKS: u32 = 200;

/// Says what became of what a task delivered. A forge knows of requests; a repository alone knows its branches.
pub(super) trait Fates {
    /// What became of it, as far as it can be told.
    fn fate(&self, task: &Task) -> Option<Fate>;
}

/// What the repository itself tells: a branch that is merged, there, or gone.
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

/// What the forge tells of requests that the repository alone does not know to be merged.
pub(super) struct Requests<'w> {
    pub(super) runtime: &'w Runtime,
    pub(super) config: &'w Config,
    pub(super) branches: Branches<'w>,
    /// Whether the forge was away when it was asked: then it is not asked again for each of some sixty requests.
    pub(super) away: Cell<bool>,
}

impl Fates for Requests<'_> {
    fn fate(&self, task: &Task) -> Option<Fate> {
        let seen = self.branches.fate(task);
        if seen == Some(Fate::Merged) || task.request().is_none() {
            return seen;
        }
        // A forge that does not answer leaves it undecided: nothing is proposed twice for that.
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

/// What earlier nights left in a repository.
pub(super) struct Earlier {
    /// What was proposed, newest first.
    pub(super) proposals: Vec<Proposal>,
    /// The tasks whose requests are not decided.
    pub(super) open: Vec<Task>,
}

/// What was proposed in the repository at this path by tasks of schedules.
pub(super) fn earlier(
    store: &mut dyn Store,
    project: &str,
    workflow: &Name,
    fates: &dyn Fates,
) -> Result<Earlier, Error> {
    let filter = Filter { project: Some(project.to_owned()), state: None, ended: true, limit: TASKS };
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

/// The page of a task's request, if it has one.
pub(super) fn link(task: &Task) -> Option<String> {
    task.request().map(|request| request.url.clone())
}
