//! Pushes finished work to a remote from the harness's own repository, whose settings only acquit can write.

use super::{Error, LockedWorkspace};
use crate::git::{CommitId, PushWay, Pushed, is_ref_name};

/// Number of pushed commits to remember as ours. If a pull request was pushed to more often, a person must look at it.
const REMEMBERED: usize = 50;

/// Result of pushing a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The branch is at the commit.
    There,
    /// The branch has someone else's work.
    Foreign {
        /// Commit it is at, if known.
        found: Option<CommitId>,
    },
    /// The remote rejected the push with this message.
    Refused(String),
}

impl LockedWorkspace {
    /// Returns the commit a remote branch is at.
    pub fn branch_at(&self, way: &PushWay<'_>, branch: &str) -> Result<Option<CommitId>, Error> {
        let look = "look at the branch of the remote";
        self.call("ls-remote").remote_branch(way, branch).map_err(Error::git(look))
    }

    /// Pushes `commit` to a branch of a remote, unless the branch has a commit that was pushed neither from this
    /// workspace nor, according to `known`, from another one. Idempotent.
    pub fn send(
        &self,
        way: &PushWay<'_>,
        branch: &str,
        commit: &CommitId,
        known: &[CommitId],
    ) -> Result<Sent, Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { role: "the name of a branch", name: branch.to_owned() });
        }
        let look = "look at the branch of the remote";
        let found = self.call("ls-remote").remote_branch(way, branch).map_err(Error::git(look))?;
        let mut state = self.load()?.ok_or_else(|| Error::NotPrepared { path: self.dir.clone() })?;
        let entry = (format!("{} {branch}", way.url), commit.clone());
        if found.as_ref() == Some(commit) {
            return Ok(Sent::There);
        }
        if let Some(found) = &found {
            let ours = state.facts.pushed.iter().any(|(to, pushed)| *to == entry.0 && pushed == found);
            if !ours && !known.contains(found) {
                return Ok(Sent::Foreign { found: Some(found.clone()) });
            }
        }
        // Record it first: after a crash in between, the branch is recognized as ours.
        if !state.facts.pushed.contains(&entry) {
            state.facts.pushed.push(entry);
            let surplus = state.facts.pushed.len().saturating_sub(REMEMBERED);
            state.facts.pushed.drain(..surplus);
            self.store(&mut state)?;
        }
        let push = self.call("push").push(way, branch, commit, found.as_ref());
        Ok(match push.map_err(Error::git("push the branch"))? {
            Pushed::Done => Sent::There,
            Pushed::Moved => Sent::Foreign { found: None },
            Pushed::Refused(words) => Sent::Refused(words),
        })
    }
}
