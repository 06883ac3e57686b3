//! Fetches pull requests into private refs of the user's repository. The user's branches, tags and remotes stay as they
//! are, and nothing is checked out.

use super::push::Way;
use super::{CommitId, Error, Git, Source, is_ref_name};

/// Prefix of the private refs of pull requests. They are never pushed.
const REQUESTS: &str = "refs/acquit/requests/";

/// The commits of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Newest commit.
    pub head: CommitId,
    /// Merge base with the target branch.
    pub base: CommitId,
}

impl Source {
    /// Fetches the commits of a pull request. `head` is its ref at the remote, `onto` its target branch.
    pub fn fetch_request(
        &self,
        git: &Git,
        way: &Way<'_>,
        number: u64,
        head: &str,
        onto: &str,
    ) -> Result<Offer, Error> {
        if !is_ref_name(onto) {
            return Err(Error::BadName { name: onto.to_owned() });
        }
        let (ours, theirs) = (format!("{REQUESTS}{number}/head"), format!("{REQUESTS}{number}/base"));
        self.call(git, "fetch")
            .reaching(way)
            .set("fetch.recurseSubmodules=false")
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .args(["--no-recurse-submodules", "--", way.url])
            .args([format!("+{head}:{ours}"), format!("+refs/heads/{onto}:{theirs}")])
            .run()?;
        self.offer(git, &ours, &theirs)
    }

    /// Resolves `head` and its merge base with `onto`. Both are names that git understands.
    pub fn offer(&self, git: &Git, head: &str, onto: &str) -> Result<Offer, Error> {
        let commit = |name: &str| {
            let found = self.resolve(git, name)?;
            found.ok_or_else(|| Error::UnknownBase { name: name.to_owned(), path: self.top().to_owned() })
        };
        let (head, onto) = (commit(head)?, commit(onto)?);
        let output = self.call(git, "merge-base").args([head.as_str(), onto.as_str()]).run()?;
        let base = output.line().parse().map_err(|_| Error::Unexpected { verb: "merge-base".into() })?;
        Ok(Offer { head, base })
    }
}
