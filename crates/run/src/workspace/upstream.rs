//! Seeing where the base branch is at the remote: its commits come through the harness's own repository, whose settings nobody else
//! wrote, and then into the user's, below a ref of acquit's own. No branch and no checkout of the user's moves.

use super::publish::incoming;
use super::{Error, Locked};
use crate::git::{CommitId, Fetched, PushWay, Source, seen};

const DOING: &str = "look at the base branch of the remote";

impl Locked {
    /// Looks where `branch` is at a remote, and has its commits in the user's repository from then on. `None` if the remote has no
    /// such branch. `known` is a commit that is here.
    pub fn fetch_base(
        &self,
        source: &Source,
        way: &PushWay<'_>,
        branch: &str,
        known: &CommitId,
    ) -> Result<Option<CommitId>, Error> {
        let name = seen(branch);
        let fetched =
            self.call("fetch").fetch_branch(way, branch, &name, known).map_err(Error::git(DOING))?;
        let before = source.seen(&self.git, branch).map_err(Error::git(DOING))?;
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
                let there = format!("{commit}^{{commit}}");
                let there = source.call(&self.git, "cat-file").args(["-e", &there]).run_any();
                if there.map_err(Error::git(DOING))?.code != Some(0) {
                    self.hand_over(source, &name, commit)?;
                    input = format!("delete {}\n", incoming(commit));
                }
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

    /// Brings a ref of the harness's repository into the user's, where it waits for the ref that keeps it.
    fn hand_over(&self, source: &Source, name: &str, commit: &CommitId) -> Result<(), Error> {
        source
            .call(&self.git, "fetch")
            .allowing_local_transport()
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"])
            .args(["--no-recurse-submodules", "--no-show-forced-updates", "--no-write-commit-graph"])
            .args(["--upload-pack", "git-upload-pack"])
            .arg(self.git_dir())
            .arg(format!("+{name}:{}", incoming(commit)))
            .run()
            .map(drop)
            .map_err(Error::git(DOING))
    }
}
