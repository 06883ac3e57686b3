//! Fetches one branch of a remote into a ref of acquit's own, under the same rules as a push: one protocol, one
//! address, no prompt, no redirect, and no token in an argument.

use std::path::Path;
use std::time::Duration;

use super::push::Way;
use super::{Call, CommitId, Error, Git, Source, is_ref_name};

/// Time limit for fetching the new commits of a branch. A leg waits for this before its work, so a slower remote counts
/// as down and is retried later.
const LIMIT: Duration = Duration::from_mins(2);

/// Result of fetching a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It was fetched.
    Here,
    /// The remote has no such branch.
    Absent,
}

/// Returns the ref that records where a remote branch was at the last fetch.
pub(crate) fn tracking_ref(branch: &str) -> String {
    format!("refs/acquit/remote/{branch}")
}

impl Call {
    /// Fetches a remote branch into the ref `to`. What `known` contains is not sent again.
    pub(crate) fn fetch_branch(
        self,
        way: &Way<'_>,
        branch: &str,
        to: &str,
        known: &CommitId,
    ) -> Result<Fetched, Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { name: branch.to_owned() });
        }
        let output = self
            .reaching(way)
            .within(LIMIT)
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"])
            .args(["--no-recurse-submodules", "--no-show-forced-updates", "--no-write-commit-graph"])
            .args([&format!("--negotiation-tip={known}"), "--", way.url])
            .arg(format!("+refs/heads/{branch}:{to}"))
            .run_any()?;
        match output.code {
            Some(0) => Ok(Fetched::Here),
            _ if output.stderr.contains("couldn't find remote ref") => Ok(Fetched::Absent),
            _ => Err(output.failed("fetch")),
        }
    }
}

impl Git {
    /// Returns the default branch that a remote reports. Reads no repository's configuration.
    pub fn default_branch(&self, way: &Way<'_>) -> Result<Option<String>, Error> {
        let limit = self.time_limit();
        let call = self.call("ls-remote").inside(Path::new("/")).reaching(way).within(limit);
        let output = call.args(["--quiet", "--symref", "--", way.url, "HEAD"]).run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let branch =
            text.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD"));
        Ok(branch.filter(|branch| is_ref_name(branch)).map(str::to_owned))
    }
}

impl Source {
    /// Returns where a remote branch was at the last fetch.
    pub fn tracking_ref(&self, git: &Git, branch: &str) -> Result<Option<CommitId>, Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { name: branch.to_owned() });
        }
        self.resolve(git, &tracking_ref(branch))
    }

    /// Returns whether `ancestor` is an ancestor of `commit`.
    pub fn contains(&self, git: &Git, commit: &CommitId, ancestor: &CommitId) -> Result<bool, Error> {
        let output = self
            .call(git, "merge-base")
            .args(["--is-ancestor", ancestor.as_str(), commit.as_str()])
            .run_any()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.failed("merge-base")),
        }
    }
}
