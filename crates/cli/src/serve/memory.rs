//! What earlier nights proposed in a repository, gathered from the store, and what became of it.

use acquit_core::artifact::Artifact;
use acquit_core::config::Config;
use acquit_core::ids::Name;
use acquit_core::night::key;
use acquit_core::night::memory::{self, Fate, Proposal};
use acquit_core::store::{Filter, Store};
use acquit_core::task::Task;
use acquit_run::forge::{self, Located, Wanted};
use acquit_run::git::{CommitId, Direction, Git, Source, Stands};
use acquit_run::world::World;

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

/// What the forge tells of requests that the repository alone takes for open. One that is not open any more was closed, if its
/// commit is not part of the base.
pub(super) struct Requests<'w> {
    pub(super) world: &'w World,
    pub(super) config: &'w Config,
    pub(super) branches: Branches<'w>,
}

impl Fates for Requests<'_> {
    fn fate(&self, task: &Task) -> Option<Fate> {
        match (self.branches.fate(task), task.request()) {
            (Some(Fate::Open) | None, Some(request)) => match self.is_open(task, request.number) {
                Some(false) => Some(Fate::Closed),
                // A forge that does not answer leaves it undecided: nothing is proposed twice for that.
                Some(true) | None => Some(Fate::Open),
            },
            (fate, _) => fate,
        }
    }
}

impl Requests<'_> {
    /// Whether the request is open; `None` if the forge cannot be asked.
    fn is_open(&self, task: &Task, number: u64) -> Option<bool> {
        let settings = &self.config.forge;
        let home = self.world.environment.get("HOME").map(std::path::Path::new);
        let (git, source) = (self.branches.git, self.branches.source);
        let url = |name: &str, direction| source.remote_url(git, home, name, direction).ok().flatten();
        let upstream = url(&settings.remote, Direction::Fetch);
        let push = url(settings.push_remote.as_ref().unwrap_or(&settings.remote), Direction::Push);
        let Ok(Located::At(place)) = forge::locate(settings, upstream.as_deref(), push.as_deref()) else {
            return None;
        };
        let token = forge::token::find(self.world, self.config, &place).ok().flatten();
        let ca = settings.ca.as_deref().and_then(|ca| forge::file(self.world, ca));
        let forge = forge::open(self.world, settings, &place, token.as_ref(), &ca).ok()?;
        let wanted = Wanted {
            branch: &task.seed.branch,
            base: task.seed.base.branch.as_deref()?,
            title: "",
            draft: false,
            squash: false,
            labels: &[],
            reviewers: &[],
            assignees: &[],
        };
        let open = forge.find(&wanted).ok()?;
        Some(open.iter().any(|request| request.number == number))
    }
}

/// What was proposed in the repository at this path by tasks of schedules, newest first.
pub(super) fn earlier(
    store: &mut dyn Store,
    project: &str,
    workflow: &Name,
    fates: &dyn Fates,
) -> Result<Vec<Proposal>, Error> {
    let filter = Filter { project: Some(project.to_owned()), state: None, ended: true, limit: TASKS };
    let mut all = Vec::new();
    for summary in store.list(&filter)? {
        if summary.workflow != *workflow || all.len() >= memory::MOST {
            continue;
        }
        let task = store.task(summary.id)?;
        if task.seed.wish.metadata.contains_key(key::SCHEDULE) {
            let last = fates.fate(&task);
            all.extend(memory::proposals(&task, last));
        }
    }
    all.truncate(memory::MOST);
    Ok(all)
}

/// The page of a task's request, if it has one.
pub(super) fn link(task: &Task) -> Option<String> {
    task.request().map(|request| request.url.clone())
}
