//! Why a workspace could not be made, used or removed.

use std::io;
use std::path::{Path, PathBuf};

use crate::git;

/// What went wrong. Messages continue a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system said no.
    #[error("{doing} {path}", path = path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Git said no.
    #[error("{doing}")]
    Git {
        /// What was being done.
        doing: &'static str,
        /// Why not.
        #[source]
        source: git::Error,
    },
    /// Another leg works here.
    #[error("lock the workspace {path}: it is in use by {holder}", path = path.display())]
    LockedWorkspace {
        /// The workspace.
        path: PathBuf,
        /// Who holds it, in its own words.
        holder: String,
    },
    /// A leg was to be collected that was never prepared.
    #[error("collect the work in {path}: no leg was prepared there", path = path.display())]
    NotPrepared {
        /// The workspace.
        path: PathBuf,
    },
    /// The agent did something that no agent may do. Its work is still there, and the next preparation saves it.
    #[error("accept the agent's work: {what}")]
    Guardrail {
        /// What it did.
        what: String,
    },
    /// Git refuses content because it harms whoever checks it out. Only a person can decide about it.
    #[error("{doing}: git refuses it: {said}; {how}")]
    Unsafe {
        /// What was being done.
        doing: &'static str,
        /// Git's own words.
        said: String,
        /// What to do about it.
        how: &'static str,
    },
    /// A name that cannot be used for a leg or a branch, or an id of another repository format.
    #[error("use {name:?} as {role}")]
    BadName {
        /// What it was meant to be.
        role: &'static str,
        /// As given.
        name: String,
    },
    /// A file of the harness's own is not what it wrote.
    #[error("read {path}: it is damaged", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The base is not part of the history of the tip.
    #[error("squash {tip}: it does not descend from {base}")]
    NotDescended {
        /// The commit that should have been the ancestor.
        base: git::CommitId,
        /// The commit that should have descended from it.
        tip: git::CommitId,
    },
    /// The user has the branch checked out.
    #[error("publish the branch {branch}: it is checked out at {at}", at = at.display())]
    CheckedOut {
        /// The branch.
        branch: String,
        /// The checkout.
        at: PathBuf,
    },
    /// A checkout of the base branch has changes that moving the branch would lose.
    #[error(
        "merge into {branch}: it is checked out at {at} with changes that are in no commit, or with files in the way; \
         commit or stash them there",
        at = at.display()
    )]
    Dirty {
        /// The branch.
        branch: String,
        /// The checkout.
        at: PathBuf,
    },
    /// Another git holds the index of the checkout, or left its lock there.
    #[error(
        "update the checkout: another git holds {lock}; try again when it has ended, or remove that file if no git runs there",
        lock = lock.display()
    )]
    IndexLocked {
        /// Its lock.
        lock: PathBuf,
    },
    /// A file of the checkout goes through a program that acquit does not run.
    #[error(
        "merge into {branch}, which is checked out at {at}: {path:?} goes through a filter (such as Git LFS), which acquit \
         does not run; merge it with git",
        at = at.display()
    )]
    Filtered {
        /// The branch.
        branch: String,
        /// The checkout.
        at: PathBuf,
        /// The file.
        path: String,
    },
    /// Somebody else moved the branch.
    #[error("publish the branch {branch}: it was moved to {found} by somebody else")]
    Moved {
        /// The branch.
        branch: String,
        /// Where it is now.
        found: String,
    },
    /// What the work changed is too large to be looked at, or git shows it in a form that nobody knows.
    #[error("read what the work changed")]
    Change(#[source] acquit_core::check::diff::Unreadable),
    /// Removing now would lose something.
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

    /// A failure of git while it examines content that is nobody's fault in particular.
    pub(super) fn unsafe_content(doing: &'static str, how: &'static str) -> impl FnOnce(git::Error) -> Self {
        move |source| match &source {
            git::Error::Failed { code, stderr, .. } if is_about_content(*code, stderr) => {
                Self::Unsafe { doing, said: first_lines(stderr), how }
            }
            _ => Self::Git { doing, source },
        }
    }

    /// A failure of git at something that the agent made: its doing, unless git names a trouble of this machine.
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

/// Whether git found fault with what it read. One that a signal ended, or that says nothing, found none: somebody killed it.
fn is_about_content(code: Option<i32>, stderr: &str) -> bool {
    code.is_some() && !stderr.trim().is_empty() && !TROUBLES.iter().any(|words| stderr.contains(words))
}

fn first_lines(stderr: &str) -> String {
    let mut said: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    said.dedup();
    said.truncate(LINES);
    said.join("; ")
}

/// How many lines of git's words the agent is told: the reason is among the first.
const LINES: usize = 4;

/// What git says when the machine, not the content, is at fault. The last three are those of a sending side
/// that did not start, or was killed.
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
