//! Fetches pull requests into private refs of the user's repository. The user's branches, tags and remotes stay as they
//! are, and nothing is checked out. Also fetches single commits into a worker's copy of a repository.

use std::time::Duration;

use super::mirror::clear_halves;

use super::push::Way;
use super::{CommitId, Error, Git, Source, is_ref_name};

/// Prefix of the private refs of pull requests. They are never pushed.
const REQUESTS: &str = "refs/acquit/requests/";

/// Prefix of the refs that keep a worker's fetched commits.
const FETCHED: &str = "refs/acquit/fetched/";

/// Age at which a partial pack without writes is abandoned. Shorter than for a mirror, because a worker tries again every
/// half minute. Longer than any other call of git that adds packs to the copy meanwhile.
const HALF: Duration = Duration::from_mins(15);

/// Problems that git finds in commits and trees of many old repositories. None of them is dangerous.
const HARMLESS: [&str; 5] = [
    "zeroPaddedFilemode",
    "badTimezone",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedDate",
];

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

    /// Fetches one commit with its history, by its id. Objects are checked as they arrive: damaged or incomplete data
    /// is not kept. A ref keeps the fetched commit, so that the next fetch transfers only new objects. One fetch at a
    /// time writes to the repository, and it removes the partial packs of earlier ones that were killed.
    pub fn fetch_commit(&self, git: &Git, way: &Way<'_>, commit: &CommitId) -> Result<(), Error> {
        let place = self.git_dir();
        let _lock = git.lock(&place.with_extension("lock"))?;
        if self.resolve(git, commit.as_str())?.is_some() {
            return Ok(());
        }
        let packs = place.join("objects/pack");
        clear_halves(&packs, HALF).map_err(|source| Error::Path { path: packs, source })?;
        // A bounded number of refs: the last fetches tell the remote what is here.
        let to = format!("{FETCHED}{}", &commit.as_str()[..2]);
        self.clear_stale_locks([to.as_str()]);
        let mut call = self
            .call(git, "fetch")
            .reaching(way)
            .set("fetch.fsckObjects=true")
            // Always receive one pack, so that a limit on the file size limits what arrives.
            .set("fetch.unpackLimit=1");
        for old in HARMLESS {
            call = call.set(format!("fetch.fsck.{old}=ignore"));
        }
        let call = call
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"])
            .args(["--no-recurse-submodules", "--no-write-commit-graph", "--", way.url])
            .arg(format!("+{commit}:{to}"));
        Git::within_size(place, || call.run().map(drop))
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
