//! Diffs between commits, for people.

use std::path::PathBuf;

use super::{Call, CommitId, Error, Git, Source};

/// Format of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Patch with lines.
    Patch,
    /// Changed files with their number of changes, at most this many columns wide.
    Stat(usize),
    /// The same for programs: added, removed and path, with a NUL after each file.
    Numbers,
}

impl Form {
    /// Makes a call of `diff-tree` use this format, regardless of the configuration of the repository or its files.
    pub(crate) fn apply(self, call: Call, from: &CommitId, to: &CommitId) -> Call {
        let form = match self {
            Self::Patch => vec!["-p".to_owned(), "-M".to_owned()],
            Self::Stat(columns) => vec![format!("--stat={columns}")],
            Self::Numbers => ["--numstat", "-z", "--no-renames"].map(str::to_owned).to_vec(),
        };
        call.without_attributes(from.format().empty_tree())
            .args(["-r", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"])
            .args(form)
            .args([from.as_str(), to.as_str(), "--"])
    }
}

/// Returns the ref that records where a checkout was when its branch moved.
pub(crate) fn pending(branch: &str) -> String {
    format!("refs/acquit/checkout/{branch}")
}

impl Source {
    /// Returns whether two commits have the same files.
    pub fn is_same(&self, git: &Git, one: &CommitId, other: &CommitId) -> Result<bool, Error> {
        let output =
            self.call(git, "diff-tree").args(["--quiet", one.as_str(), other.as_str(), "--"]).run_any()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.failed("diff-tree")),
        }
    }

    /// Returns the diff from `from` to `to`.
    pub fn diff(&self, git: &Git, from: &CommitId, to: &CommitId, form: Form) -> Result<Vec<u8>, Error> {
        Ok(form.apply(self.call(git, "diff-tree"), from, to).run()?.stdout)
    }

    /// Returns whether a branch was moved and its checkout has not followed yet.
    fn is_behind(&self, git: &Git, branch: &str) -> Result<bool, Error> {
        let pending = pending(branch);
        let output = self.call(git, "rev-parse").args(["--quiet", "--verify", &pending]).run_any()?;
        Ok(output.code == Some(0))
    }

    /// Returns the checkout of a branch that has uncommitted changes, if there is one. Untracked files do not count.
    pub fn dirty_checkout(&self, git: &Git, branch: &str) -> Result<Option<PathBuf>, Error> {
        let Some(at) = self.checked_out_at(git, &format!("refs/heads/{branch}"))? else { return Ok(None) };
        // A checkout that is only behind its moved branch is updated first.
        if self.is_behind(git, branch)? {
            return Ok(None);
        }
        let output = self
            .unfiltered(git, "status")?
            .inside(&at)
            .args(["--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all"])
            .run()?;
        Ok((!output.stdout.is_empty()).then_some(at))
    }
}
