//! Chooses the start of work that will leave this machine: a branch of the repository's remote, never the current
//! checkout.
//!
//! The checkout may be unfinished, and acquit must not push commits that the user has not pushed. So the base of a
//! night, and of a task that ends at a forge, is the remote's default branch or the named branch, as it is at the
//! remote.

use std::time::Duration;

use acquit_core::config::{By, Config};
use acquit_core::workflow::{Action, Work, Workflow};

use crate::forge::{self, Located};
use crate::git::{Base, CommitId, Error, Git, PushWay, Source};
use crate::runtime::Runtime;

/// Timeout for asking a remote for its default branch. A person waits for the task to start.
const ASK: Duration = Duration::from_secs(20);

/// Common names of default branches, as the last resort.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// Remote of the project's base branch.
const ORIGIN: &str = "origin";

/// Returns whether a workflow's work goes to the forge of the repository.
pub fn leaves(runtime: &Runtime, config: &Config, workflow: &Workflow, source: &Source) -> bool {
    let merges = config.merge.by == By::Forge;
    let delivers = |work: &Work| match work {
        Work::Action { action: Action::Publish(_), .. } => true,
        Work::Action { action: Action::Merge, .. } => merges,
        Work::Action { action: Action::Squash | Action::Notify(_), .. }
        | Work::Agent(_)
        | Work::Check
        | Work::Human { .. } => false,
    };
    workflow.stages.iter().any(|stage| delivers(&stage.work))
        && matches!(forge::of(runtime, &config.forge, source), Ok(Located::At(_)))
}

/// Returns the base at the repository's remote: the named branch, or the default one. `None` if the repository has no
/// remote.
pub fn at_remote(
    runtime: &Runtime,
    config: &Config,
    source: &Source,
    named: Option<&str>,
) -> Result<Option<Base>, Error> {
    let git = &runtime.git;
    let Some(remote) = forge::base_remote(runtime, &config.forge, source) else { return Ok(None) };
    let branch = match named {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(),
        None => default_branch(runtime, config, source, &remote)?.ok_or_else(|| Error::NoDefaultBranch {
            remote: remote.clone(),
            path: source.path().to_owned(),
        })?,
    };
    // This is the state of the user's last fetch. A leg fetches again.
    if let Some(commit) = source.tracked(git, &remote, &branch)? {
        return Ok(Some(Base { branch: Some(branch), commit }));
    }
    source.base(git, Some(&branch)).map(Some)
}

/// Returns whether a commit is part of the project's base branch, as it is here or at its remote. If not, an agent or a
/// stranger may have made it.
pub fn is_own(
    git: &Git,
    source: &Source,
    configured: Option<&str>,
    commit: &CommitId,
) -> Result<bool, Error> {
    let tracked = source.tracked_head(git, ORIGIN)?;
    let names = configured.map(str::to_owned).into_iter().chain(tracked).chain(USUAL.map(str::to_owned));
    for name in names {
        let here = source.branch(git, &name).ok().flatten();
        let tips: Vec<CommitId> =
            here.into_iter().chain(source.tracked(git, ORIGIN, &name).ok().flatten()).collect();
        if !tips.is_empty() {
            let has = |tip: &CommitId| tip == commit || source.contains(git, tip, commit).unwrap_or(false);
            return Ok(tips.iter().any(has));
        }
    }
    Ok(false)
}

/// Returns the remote's default branch: as the user's clone knows it, as the remote reports it, or by its name.
fn default_branch(
    runtime: &Runtime,
    config: &Config,
    source: &Source,
    remote: &str,
) -> Result<Option<String>, Error> {
    let git = &runtime.git;
    if let Some(branch) = source.tracked_head(git, remote)? {
        return Ok(Some(branch));
    }
    if let Some(branch) = asked(runtime, config, source) {
        return Ok(Some(branch));
    }
    for branch in USUAL {
        if source.tracked(git, remote, branch)?.is_some() || source.branch(git, branch)?.is_some() {
            return Ok(Some(branch.to_owned()));
        }
    }
    Ok(None)
}

/// Asks the forge for the default branch.
fn asked(runtime: &Runtime, config: &Config, source: &Source) -> Option<String> {
    let Ok(Located::At(place)) = forge::of(runtime, &config.forge, source) else { return None };
    let token = forge::token::find(runtime, config, &place).ok().flatten();
    let address = &place.upstream;
    let access = forge::access(runtime, place.kind, address.transport, token.as_ref());
    let ca = forge::ca(runtime, &config.forge);
    let way = PushWay { url: &address.url, access, ca: ca.as_deref(), proxy: config.forge.proxy.as_deref() };
    runtime.git.clone().with_time_limit(ASK).default_branch(&way).ok().flatten()
}
