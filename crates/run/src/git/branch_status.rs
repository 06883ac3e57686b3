//! Determines the status of a branch that acquit left in a repository, as far as the repository alone can tell.

use super::{CommitId, Error, Git, Source};

/// Maximum number of changed files to compare one by one.
const MOST_FILES: usize = 200;

/// Status of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// The base contains its commit, or everything that it changed.
    Merged,
    /// The branch exists, and the base does not contain its change.
    Open,
    /// The branch no longer exists.
    Gone,
}

impl Source {
    /// Returns the status of the branch that was left at `commit`, compared with `base` or with what is checked out.
    pub fn stands(
        &self,
        git: &Git,
        branch: &str,
        commit: &CommitId,
        base: Option<&str>,
    ) -> Result<Stands, Error> {
        let base = self.base(git, base)?.commit;
        if self.resolve(git, commit.as_str())?.is_some() {
            let beyond = format!("^{base}");
            let beyond =
                self.call(git, "rev-list").args(["--max-count=1", commit.as_str(), &beyond]).run()?;
            if beyond.stdout.is_empty() || self.has_change(git, commit, &base)? {
                return Ok(Stands::Merged);
            }
        }
        let there = self.resolve(git, &format!("refs/heads/{branch}"))?;
        Ok(if there.is_some() { Stands::Open } else { Stands::Gone })
    }

    /// Returns whether `base` has the files that the branch changed exactly as the branch left them. Then it was merged
    /// as another commit or as several.
    fn has_change(&self, git: &Git, commit: &CommitId, base: &CommitId) -> Result<bool, Error> {
        let left = self.call(git, "merge-base").args([base.as_str(), commit.as_str()]).run_any()?;
        // Without a merge base there is no common history.
        let Ok(left) = left.line().parse::<CommitId>() else { return Ok(false) };
        let changed = self
            .call(git, "diff-tree")
            .args(["-r", "-z", "--name-only", "--no-renames", left.as_str(), commit.as_str()])
            .run()?;
        let paths: Vec<&[u8]> =
            changed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
        if paths.is_empty() || paths.len() > MOST_FILES {
            return Ok(false);
        }
        let paths = paths.into_iter().map(std::os::unix::ffi::OsStrExt::from_bytes);
        let same = self
            .call(git, "diff-tree")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["-r", "--quiet", "--no-renames", base.as_str(), commit.as_str(), "--"])
            .args(paths.collect::<Vec<&std::ffi::OsStr>>())
            .run_any()?;
        match same.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(same.failed("diff-tree")),
        }
    }
}
