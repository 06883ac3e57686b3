//! Sending finished work to a remote, from the harness's own repository, whose settings nobody else wrote.

use super::{Error, LockedWorkspace};
use crate::git::{CommitId, PushWay, Pushed, is_ref_name};

/// So many commits are remembered as ours: a request that was pushed to more often is looked at by a person.
const REMEMBERED: usize = 50;

/// What came of sending a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The branch is at the commit.
    There,
    /// Somebody else's work is on it.
    Foreign {
        /// Where it is, if that is still known.
        found: Option<CommitId>,
    },
    /// The remote does not accept it, in its words.
    Refused(String),
}

impl LockedWorkspace {
    /// Where a branch of a remote is.
    pub fn branch_at(&self, way: &PushWay<'_>, branch: &str) -> Result<Option<CommitId>, Error> {
        let look = "look at the branch of the remote";
        self.call("ls-remote").remote_branch(way, branch).map_err(Error::git(look))
    }

    /// Makes `commit` the branch of a remote, if nothing stands there that we did not push: neither in this workspace, nor, as
    /// far as `known` says, in another. Doing it again changes nothing.
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
        // Remembered before it happens: after a crash in between, the branch is recognised as ours.
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
