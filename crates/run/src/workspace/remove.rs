//! Removal of a workspace.

use super::agent::AgentGit;
use super::state::State;
use super::{Error, LockedWorkspace, files};
use crate::git::{CommitId, Git, Source};

impl LockedWorkspace {
    /// Deletes the directory if nothing in it would be lost: the tree is clean, its commits are in the user's
    /// repository (unchanged or squashed), so are the attempts, and nothing was moved aside.
    pub fn remove(self, source: &Source) -> Result<(), Error> {
        self.remove_after(source, || Ok(()))
    }

    /// Does the same, but calls `first` between the check and the deletion. If it is killed there, another process
    /// repeats it, because the directory still exists.
    pub(crate) fn remove_after(
        self,
        source: &Source,
        first: impl FnOnce() -> Result<(), crate::git::Error>,
    ) -> Result<(), Error> {
        if self.is_made() {
            if let Some(what) = self.unsaved(source)? {
                return Err(Error::Unsaved { path: self.dir.clone(), what });
            }
            // From here on it is not a workspace any more, so that a half-removed one is never used.
            files::remove(&self.git_dir().join("acquit-complete"))?;
        }
        first().map_err(Error::git("remove the ref that kept the base"))?;
        files::remove(&self.dir)
    }

    /// Deletes what was moved aside (`kept/`). For a person who has looked at it.
    pub fn discard_kept(&self) -> Result<(), Error> {
        files::remove(&self.kept_dir())
    }

    fn unsaved(&self, source: &Source) -> Result<Option<String>, Error> {
        let kept = self.kept_dir();
        if kept.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(Some(format!("{} holds what could not be saved as commits", kept.display())));
        }
        let Some(state) = self.load()?.filter(|s| s.facts.resetting.is_none()) else {
            return Ok(Some("a reset has not been finished".into()));
        };
        let clean = match self.look_at_tree()? {
            Some(tree) => state.has_tree(&tree) || self.is_clean(&state.facts.head, &tree)?,
            None => self.tree().symlink_metadata().is_err(),
        };
        if !clean {
            return Ok(Some("the tree has changes that are in no commit".into()));
        }
        match self.read_agent(&state.facts.branch)? {
            AgentGit::Gone { .. } => {}
            AgentGit::There { tip: Ok(tip), others: Some(others), .. }
                if tip == state.facts.agent_tip && others.iter().all(|other| *other == tip) => {}
            AgentGit::There { .. } => {
                return Ok(Some("the agent's repository has commits that were not collected".into()));
            }
        }
        if !self.is_published(&state, source)? {
            return Ok(Some(format!("the commit {} is in no branch of the repository", state.facts.head)));
        }
        let found = self.look_up(source, None)?;
        let missing =
            self.attempts()?.into_iter().find(|(_, id)| !found.iter().any(|(_, there)| there == id.as_str()));
        Ok(missing.map(|(name, _)| format!("the attempt {name} is not in the repository")))
    }
}

impl LockedWorkspace {
    /// Returns whether a ref of the user's repository contains the head, or what it was squashed into. Asks that
    /// repository, because our own record only says what we meant to publish.
    fn is_published(&self, state: &State, source: &Source) -> Result<bool, Error> {
        let facts = &state.facts;
        if facts.head == facts.origin {
            return Ok(true);
        }
        let squashed = facts.squashed.iter().filter(|(tip, _)| *tip == facts.head).map(|(_, commit)| commit);
        let own: Vec<String> = facts
            .published
            .iter()
            .map(|(branch, _)| format!("refs/heads/{branch}"))
            .chain(self.history()?.into_iter().chain(self.attempts()?).map(|(name, _)| name))
            .collect();
        let mut all = ["refs/heads/", "refs/remotes/", "refs/tags/"].map(str::to_owned).to_vec();
        all.extend([self.attempt_refs(), self.history_refs()]);
        let commits: Vec<&CommitId> = squashed.chain([&facts.head]).collect();
        // Check first the few refs that this task wrote, then the checked-out branch, which is often the base: checking
        // all refs costs more with every task.
        let contained = |refs: &[String]| {
            commits
                .iter()
                .try_fold(false, |found, commit| Ok(found || contained_in(&self.git, source, commit, refs)?))
        };
        let current = || -> Result<Vec<String>, Error> {
            let call = source.call(&self.git, "symbolic-ref").args(["--quiet", "HEAD"]);
            let name = call.run_any().map_err(Error::git(LOOKING))?.line();
            Ok(Some(name).filter(|name| name.starts_with("refs/heads/")).into_iter().collect())
        };
        Ok(contained(&own)? || contained(&current()?)? || contained(&all)?)
    }
}

const LOOKING: &str = "look for the published commit";

/// Returns whether one of the refs contains a commit.
fn contained_in(git: &Git, source: &Source, commit: &CommitId, refs: &[String]) -> Result<bool, Error> {
    if refs.is_empty() {
        return Ok(false);
    }
    let output = source
        .call(git, "for-each-ref")
        .args(["--count=1", "--format=%(refname)", &format!("--contains={commit}")])
        .args(refs)
        .run_any()
        .map_err(Error::git(LOOKING))?;
    // A missing commit is an error for git, but means false here.
    Ok(output.code == Some(0) && !output.stdout.is_empty())
}
