//! Differences between commits, for people.

use std::path::PathBuf;

use super::{Call, CommitId, Error, Git, Source};

/// How a difference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The lines.
    Patch,
    /// The files, and how much of each, in lines of at most so many columns.
    Stat(usize),
    /// The same for programs: added, removed and path, each file ended by a zero.
    Numbers,
}

impl Form {
    /// Lets a call of `diff-tree` show the difference so, whatever a repository or its files say about how.
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

/// The ref that says where a checkout was when its branch moved.
pub(crate) fn pending(branch: &str) -> String {
    format!("refs/acquit/checkout/{branch}")
}

impl Source {
    /// Whether two commits have the same files.
    pub fn is_same(&self, git: &Git, one: &CommitId, other: &CommitId) -> Result<bool, Error> {
        let output =
            self.call(git, "diff-tree").args(["--quiet", one.as_str(), other.as_str(), "--"]).run_any()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.failed("diff-tree")),
        }
    }

    /// What `to` has and `from` has not.
    pub fn diff(&self, git: &Git, from: &CommitId, to: &CommitId, form: Form) -> Result<Vec<u8>, Error> {
        Ok(form.apply(self.call(git, "diff-tree"), from, to).run()?.stdout)
    }

    /// Whether a branch was moved whose checkout did not follow yet.
    fn is_behind(&self, git: &Git, branch: &str) -> Result<bool, Error> {
        let pending = pending(branch);
        let output = self.call(git, "rev-parse").args(["--quiet", "--verify", &pending]).run_any()?;
        Ok(output.code == Some(0))
    }

    /// Where a branch is checked out with changes that are in no commit, if it is. Files that git does not know are no change.
    pub fn dirty_checkout(&self, git: &Git, branch: &str) -> Result<Option<PathBuf>, Error> {
        let Some(at) = self.checked_out_at(git, &format!("refs/heads/{branch}"))? else { return Ok(None) };
        // One that is only behind is brought along before anything else.
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
