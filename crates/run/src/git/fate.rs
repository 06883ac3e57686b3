//! What became of a branch that acquit left in a repository, as far as the repository alone can tell.

use super::{CommitId, Error, Git, Source};

/// Where a branch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Its commit is part of the base.
    Merged,
    /// It is there, and its commit is not part of the base.
    Open,
    /// It is not there any more.
    Gone,
}

impl Source {
    /// Where the branch stands that was left at `commit`, held against `base` or what is checked out.
    pub fn stands(
        &self,
        git: &Git,
        branch: &str,
        commit: &CommitId,
        base: Option<&str>,
    ) -> Result<Stands, Error> {
        let base = self.base(git, base)?.commit;
        if self.resolve(git, commit.as_str())?.is_some() {
            let range = [commit.as_str(), &format!("^{base}")].map(str::to_owned);
            let beyond = self.call(git, "rev-list").args(["--max-count=1"]).args(range).run()?;
            if beyond.stdout.is_empty() {
                return Ok(Stands::Merged);
            }
        }
        let there = self.resolve(git, &format!("refs/heads/{branch}"))?;
        Ok(if there.is_some() { Stands::Open } else { Stands::Gone })
    }
}
