//! The end of a workspace.

use super::agent::AgentGit;
use super::state::State;
use super::{Error, Locked, files};
use crate::git::Source;

impl Locked {
    /// Deletes the folder if nothing in it would be lost: the tree is clean, its commits are in the user's repository
    /// (as themselves or squashed), so are the attempts, and nothing was moved aside.
    pub fn remove(self, source: &Source) -> Result<(), Error> {
        if self.is_made() {
            if let Some(what) = self.unsaved(source)? {
                return Err(Error::Unsaved { path: self.dir.clone(), what });
            }
            // From here on it is not a workspace any more, so that a half-removed one is never taken for a whole.
            files::remove(&self.git_dir().join("acquit-complete"))?;
        }
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
            AgentGit::There { tip: Ok(tip), elsewhere: false, .. } if tip == state.facts.agent_tip => {}
            AgentGit::There { .. } => {
                return Ok(Some("the agent's repository has commits that were not collected".into()));
            }
        }
        if !self.is_published(&state, source)? {
            return Ok(Some(format!("the commit {} is in no branch of the repository", state.facts.head)));
        }
        let found = source
            .call(&self.git, "for-each-ref")
            .args(["--format=%(objectname)", &self.attempt_refs()])
            .run()
            .map_err(Error::git("look at the saved attempts"))?;
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let missing = self.attempts()?.into_iter().find(|(_, id)| !found.lines().any(|l| l == id.as_str()));
        Ok(missing.map(|(name, _)| format!("the attempt {name} is not in the repository")))
    }
}

impl Locked {
    /// Whether the head, or what it was squashed into, is part of a ref of the user's repository. Asked there, because
    /// what we remember is what we meant to publish.
    fn is_published(&self, state: &State, source: &Source) -> Result<bool, Error> {
        let facts = &state.facts;
        if facts.head == facts.origin {
            return Ok(true);
        }
        let squashed = facts.squashed.iter().filter(|(tip, _)| *tip == facts.head).map(|(_, commit)| commit);
        for commit in squashed.chain([&facts.head]) {
            let output = source
                .call(&self.git, "for-each-ref")
                .args(["--count=1", "--format=%(refname)", &format!("--contains={commit}")])
                .args(["refs/heads/", "refs/remotes/", "refs/tags/"])
                .args([&self.attempt_refs(), &self.history_refs()])
                .run_any()
                .map_err(Error::git("look for the published commit"))?;
            // A commit that is not there at all is an error to git and an answer to us.
            if output.code == Some(0) && !output.stdout.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
