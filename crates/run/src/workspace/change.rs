//! Diffs and commits of a task, as input for checks. Everything is read through the harness's own repository, so the
//! tree cannot influence how.

use acquit_core::check::diff::{CommitDiff, Diff};

use super::{Error, LockedWorkspace};
use crate::git::{Commit, CommitId};

/// Limit for rename detection: git compares every file with every other one and gives up beyond this number.
const RENAMES: &str = "-l2000";

/// How much of the changed files to read around changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Only the changed lines.
    Nothing,
    /// A few lines, git's default.
    Few,
    /// The whole of every changed file.
    Files,
}

impl Around {
    fn option(self) -> &'static str {
        match self {
            Self::Nothing => "-U0",
            Self::Few => "-U3",
            // More lines than any file has that git treats as text.
            Self::Files => "-U536870912",
        }
    }
}

/// A commit, as checks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitText {
    /// Commit id.
    pub id: CommitId,
    /// Author, as `Name <address>`.
    pub author: String,
    /// Full message.
    pub message: String,
}

impl LockedWorkspace {
    /// Returns the diff from `from` to `to`.
    pub fn change(&self, from: &CommitId, to: &CommitId, around: Around) -> Result<Diff, Error> {
        let output = self
            .looking("diff-tree")
            .args(["-r", "-p", "-M", RENAMES])
            .args(FORM)
            .args([around.option(), from.as_str(), to.as_str(), "--"])
            .run()
            .map_err(Error::git(DOING))?;
        Diff::parse(&output.stdout).map_err(Error::Change)
    }

    /// Returns the diff of each commit reachable from `to` but not from `from`, newest first. For a merge, only what
    /// differs from all of its parents.
    pub fn changes(&self, from: &CommitId, to: &CommitId) -> Result<Vec<CommitDiff>, Error> {
        // A file that git treats as binary may be text in another encoding, or an archive with text in it. Such files
        // are left out only if the change is too large with them.
        let output = match self.log(from, to, &["--text"]) {
            Err(crate::git::Error::TooMuchOutput { .. }) => self.log(from, to, &[]),
            read => read,
        };
        Diff::parse_log(&output.map_err(Error::git(DOING))?).map_err(Error::Change)
    }

    fn log(&self, from: &CommitId, to: &CommitId, more: &[&str]) -> Result<Vec<u8>, crate::git::Error> {
        let output = self
            .looking("log")
            .args([
                "-p",
                "--cc",
                "--no-renames",
                "--format=commit %H",
                "--no-show-signature",
                "--no-decorate",
            ])
            .args(["--no-mailmap", Around::Nothing.option()])
            .args(FORM)
            .args(more)
            .args([&format!("{from}..{to}"), "--"])
            .run()?;
        Ok(output.stdout)
    }

    /// Returns the commits reachable from `to` but not from `from`, newest first.
    pub fn commits(&self, from: &CommitId, to: &CommitId) -> Result<Vec<CommitText>, Error> {
        if let Some(line) = self.line_at_hand(from, to) {
            let text = |(id, Commit { author, message, .. })| CommitText { id, author, message };
            return Ok(line.into_iter().map(text).collect());
        }
        let unexpected = || Error::git(DOING)(crate::git::Error::Unexpected { verb: "log".into() });
        let output = self
            .call("log")
            .args(["-z", "--no-show-signature", "--no-color", "--no-decorate", "--no-mailmap"])
            .args(["--encoding=UTF-8", "--format=%H%n%an <%ae>%n%B", &format!("{from}..{to}"), "--"])
            .run()
            .map_err(Error::git(DOING))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows = text.split('\0').filter(|row| !row.is_empty());
        rows.map(|row| {
            let (id, rest) = row.split_once('\n').ok_or_else(unexpected)?;
            let (author, message) = rest.split_once('\n').ok_or_else(unexpected)?;
            let id = id.parse().map_err(|_| unexpected())?;
            Ok(CommitText { id, author: author.to_owned(), message: message.to_owned() })
        })
        .collect()
    }

    /// Returns a text file from the top of a commit's tree. `None` if it does not exist or is too large.
    pub fn text_at(&self, commit: &CommitId, name: &str) -> Result<Option<String>, Error> {
        self.text_of(&format!("{commit}:{name}"))
    }

    /// Returns those of `commits` that acquit made itself, including rebased copies. The agent did not write their
    /// messages.
    pub fn own_commits(&self, commits: &[CommitText]) -> Result<Vec<CommitId>, Error> {
        let Some(state) = self.load()? else { return Ok(Vec::new()) };
        let own = |id: &&CommitId| state.facts.own.iter().any(|own| state.is_same_work(own, id));
        Ok(commits.iter().map(|commit| &commit.id).filter(own).cloned().collect())
    }

    /// Returns the paths changed by the newest `count` commits up to `commit`.
    pub fn touched_lately(&self, commit: &CommitId, count: u32) -> Result<Vec<String>, Error> {
        let output = self
            .looking("log")
            .args(["-z", "--name-only", "--format=", "--no-renames", "--diff-merges=first-parent"])
            .args([&format!("--max-count={count}"), commit.as_str(), "--"])
            .run()
            .map_err(Error::git(DOING))?;
        let mut paths: Vec<String> = output
            .stdout
            .split(|byte| *byte == 0)
            .map(|path| String::from_utf8_lossy(path).trim_start_matches('\n').to_owned())
            .filter(|path| !path.is_empty())
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Builds a git call in which attributes of the tree cannot hide a file.
    fn looking(&self, verb: &str) -> crate::git::Call {
        self.call(verb).without_attributes(self.format.empty_tree())
    }
}

/// Options for the format that [`Diff`] parses, independent of the configuration.
const FORM: [&str; 10] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--diff-algorithm=histogram",
    "--inter-hunk-context=0",
    "--ignore-submodules=none",
    "--submodule=short",
];

const DOING: &str = "read what the work changed";
