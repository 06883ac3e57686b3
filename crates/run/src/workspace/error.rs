//! Errors of creating, using and removing workspaces.

use std::io;
use std::path::{Path, PathBuf};

use crate::git;

/// A workspace error. Messages continue a sentence that starts with "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file system operation failed.
    #[error("{doing} {path}", path = path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// Its path.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A git command failed.
    #[error("{doing}")]
    Git {
        /// The operation.
        doing: &'static str,
        /// Cause.
        #[source]
        source: git::Error,
    },
    /// Another leg holds the workspace.
    #[error("lock the workspace {path}: it is in use by {holder}", path = path.display())]
    LockedWorkspace {
        /// The workspace.
        path: PathBuf,
        /// The holder, as it named itself.
        holder: String,
    },
    /// A leg was collected without having been prepared.
    #[error("collect the work in {path}: no leg was prepared there", path = path.display())]
    NotPrepared {
        /// The workspace.
        path: PathBuf,
    },
    /// The agent broke a guardrail. Its work is still there, and the next preparation saves it.
    #[error("accept the agent's work: {what}")]
    Guardrail {
        /// What the agent did.
        what: String,
    },
    /// Git rejects the content because checking it out is dangerous. Only a person can decide what to do.
    #[error("{doing}: git refuses it: {said}; {how}")]
    Unsafe {
        /// The operation.
        doing: &'static str,
        /// Git's message.
        said: String,
        /// How to fix it.
        how: &'static str,
    },
    /// A name that is not valid for a leg or a branch, or a commit id of another object format.
    #[error("use {name:?} as {role}")]
    BadName {
        /// What the name is for.
        role: &'static str,
        /// The name as given.
        name: String,
    },
    /// A file that the harness wrote has unexpected content.
    #[error("read {path}: it is damaged", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The base is not an ancestor of the tip.
    #[error("squash {tip}: it does not descend from {base}")]
    NotDescended {
        /// Commit that should be the ancestor.
        base: git::CommitId,
        /// Commit that should descend from it.
        tip: git::CommitId,
    },
    /// The user has the branch checked out.
    #[error("publish the branch {branch}: it is checked out at {at}", at = at.display())]
    CheckedOut {
        /// Branch name.
        branch: String,
        /// Path of the checkout.
        at: PathBuf,
    },
    /// A checkout of the base branch has changes that moving the branch would lose.
    #[error(
        "merge into {branch}: it is checked out at {at} with changes that are in no commit, or with files in the way; \
         commit or stash them there",
        at = at.display()
    )]
    Dirty {
        /// Branch name.
        branch: String,
        /// Path of the checkout.
        at: PathBuf,
    },
    /// Another git holds the index of the checkout, or left its lock behind.
    #[error(
        "update the checkout: another git holds {lock}; try again when it has ended, or remove that file if no git runs there",
        lock = lock.display()
    )]
    IndexLocked {
        /// Path of the lock file.
        lock: PathBuf,
    },
    /// A file of the checkout uses a filter that acquit does not run.
    #[error(
        "merge into {branch}, which is checked out at {at}: {path:?} goes through a filter (such as Git LFS), which acquit \
         does not run; merge it with git",
        at = at.display()
    )]
    Filtered {
        /// Branch name.
        branch: String,
        /// Path of the checkout.
        at: PathBuf,
        /// Path of the file.
        path: String,
    },
    /// Someone else moved the branch.
    #[error("publish the branch {branch}: it was moved to {found} by somebody else")]
    Moved {
        /// Branch name.
        branch: String,
        /// Commit it is at now.
        found: String,
    },
    /// The diff is too large to check, or git printed it in an unknown format.
    #[error("read what the work changed")]
    Change(#[source] acquit_core::check::diff::Unreadable),
    /// Removing the workspace now would lose work.
    #[error("remove the workspace {path}: {what}", path = path.display())]
    Unsaved {
        /// The workspace.
        path: PathBuf,
        /// What would be lost.
        what: String,
    },
}

impl Error {
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }

    pub(super) fn git(doing: &'static str) -> impl FnOnce(git::Error) -> Self {
        move |source| Self::Git { doing, source }
    }

    pub(super) fn guardrail(what: impl Into<String>) -> Self {
        Self::Guardrail { what: what.into() }
    }

    /// Wraps a git failure on content that no agent made. Becomes [`Self::Unsafe`] if git complains about the content.
    pub(super) fn unsafe_content(doing: &'static str, how: &'static str) -> impl FnOnce(git::Error) -> Self {
        move |source| match &source {
            git::Error::Failed { code, stderr, .. } if is_about_content(*code, stderr) => {
                Self::Unsafe { doing, said: first_lines(stderr), how }
            }
            _ => Self::Git { doing, source },
        }
    }

    /// Wraps a git failure on content that the agent made. Blames the agent, unless git reports a problem of this
    /// machine.
    pub(super) fn by_agent(doing: &'static str) -> impl FnOnce(git::Error) -> Self {
        move |source| match &source {
            git::Error::Failed { code, stderr, .. } if is_about_content(*code, stderr) => {
                Self::guardrail(format!("git could not {doing}: {}", first_lines(stderr)))
            }
            git::Error::TooMuchOutput { limit, .. } => {
                Self::guardrail(format!("git could not {doing}: that gives more than {limit} bytes"))
            }
            _ => Self::Git { doing, source },
        }
    }
}

/// Returns whether git complains about the content it read. A git that was ended by a signal or printed nothing was
/// killed, so it does not.
fn is_about_content(code: Option<i32>, stderr: &str) -> bool {
    code.is_some() && !stderr.trim().is_empty() && !TROUBLES.iter().any(|words| stderr.contains(words))
}

fn first_lines(stderr: &str) -> String {
    let mut said: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    said.dedup();
    said.truncate(LINES);
    said.join("; ")
}

/// Number of lines of git's message to show the agent. The reason is among the first ones.
const LINES: usize = 4;

/// Messages of git about problems of the machine rather than of the content. The last three appear when the sending
/// side did not start or was killed.
const TROUBLES: [&str; 13] = [
    "died of signal",
    "No space left",
    "quota exceeded",
    "Read-only file system",
    "Input/output error",
    "Cannot allocate memory",
    "out of memory",
    "Too many open files",
    "Resource temporarily unavailable",
    "cannot fork",
    "cannot run",
    "Could not read from remote repository",
    "unable to write to remote",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_was_killed_says_nothing_about_the_content() {
        let blamed = |code, stderr: &str| {
            let failed = git::Error::Failed { verb: "fetch".to_owned(), code, stderr: stderr.to_owned() };
            matches!(Error::by_agent("take in its commits")(failed), Error::Guardrail { .. })
        };
        assert!(blamed(Some(128), "error: object 12ab: missingSpaceBeforeDate"));
        assert!(!blamed(None, "error: object 12ab: half a line"));
        assert!(!blamed(Some(128), " \n"));
        assert!(!blamed(
            Some(128),
            "error: index-pack died of signal 9\nfatal: fetch-pack: invalid index-pack output"
        ));
        assert!(!blamed(Some(128), "Killed\nfatal: unable to write to remote: Broken pipe"));
        assert!(!blamed(Some(128), "fatal: write error: No space left on device"));
    }
}
