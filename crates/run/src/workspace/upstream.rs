//! Fetches the base branch of a remote. Its commits go through the harness's own repository, whose settings only acquit
//! can write, into the user's repository, under a ref of acquit's own. No branch and no checkout of the user moves.

use super::transfer::Check;
use super::{Error, LockedWorkspace};
use crate::git::{CommitId, Fetched, PushWay, Source, tracking_ref};

const DOING: &str = "look at the base branch of the remote";

impl LockedWorkspace {
    /// Fetches `branch` from a remote, so that the user's repository has its commits. `None` if the remote has no such
    /// branch. `known` is a commit that exists locally.
    pub fn fetch_base(
        &self,
        source: &Source,
        way: &PushWay<'_>,
        branch: &str,
        known: &CommitId,
    ) -> Result<Option<CommitId>, Error> {
        let name = tracking_ref(branch);
        let fetched =
            self.call("fetch").fetch_branch(way, branch, &name, known).map_err(Error::git(DOING))?;
        let before = source.tracking_ref(&self.git, branch).map_err(Error::git(DOING))?;
        let mut input = String::new();
        let commit = match fetched {
            Fetched::Absent => None,
            Fetched::Here => {
                let place = format!("{name}^{{commit}}");
                let found = self.call("rev-parse").args(["--verify", "--end-of-options", &place]);
                Some(found.run_for_id().map_err(Error::git(DOING))?)
            }
        };
        match &commit {
            Some(commit) if before.as_ref() != Some(commit) => {
                input = self.copy_to(source, &[commit], &[known], Check::None, DOING)?.after;
                input.push_str(&format!("update {name} {commit}\n"));
            }
            None if before.is_some() => input = format!("delete {name}\n"),
            Some(_) | None => {}
        }
        if !input.is_empty() {
            let update = source.call(&self.git, "update-ref").args(["--stdin", "--no-deref"]).input(input);
            update.run().map_err(Error::git(DOING))?;
        }
        Ok(commit)
    }
}
