//! Errors of git calls and of reading the user's repository.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::store::Disk;

use crate::process;

/// A git error. Messages continue a sentence that starts with "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started.
    #[error("run git")]
    Start(#[source] process::Error),
    /// Git exited with an error.
    #[error("run git {verb} (exit code {code}): {stderr}", code = code.map_or("none".into(), |c| c.to_string()))]
    Failed {
        /// Subcommand.
        verb: String,
        /// Exit code. `None` if a signal ended it.
        code: Option<i32>,
        /// Its error output, truncated, with invalid UTF-8 replaced.
        stderr: String,
    },
    /// A program that creates or checks signatures could not be run.
    #[error("run {program}")]
    Signer {
        /// Program name.
        program: String,
        /// Cause.
        #[source]
        source: Box<process::Error>,
    },
    /// A program did not sign.
    #[error("sign with {program}: {why}")]
    NotSigned {
        /// Program name.
        program: String,
        /// Its message.
        why: String,
    },
    /// The call timed out.
    #[error("run git {verb}: it did not finish within {limit:?}")]
    TimedOut {
        /// Subcommand.
        verb: String,
        /// The time limit.
        limit: Duration,
    },
    /// The call printed too much.
    #[error("run git {verb}: it printed more than {limit} bytes")]
    TooMuchOutput {
        /// Subcommand.
        verb: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The received data is larger than this process may write.
    #[error("run git {verb}: it received more than {limit} bytes")]
    TooLarge {
        /// Subcommand.
        verb: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A checkout has too much uncommitted work.
    #[error("take {bytes} bytes of uncommitted work: {most} are the most, and {path:?} alone has {size}", path = path.display())]
    TooMuchWork {
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        most: u64,
        /// The largest file.
        path: PathBuf,
        /// Size of that file.
        size: u64,
    },
    /// A partial clone lacks files of a commit.
    #[error("use commit {} of {}: {missing} of its files are not in this partial clone", commit.short(), path.display())]
    Partial {
        /// Path of the clone.
        path: PathBuf,
        /// The commit.
        commit: super::CommitId,
        /// Number of missing files and directories.
        missing: usize,
    },
    /// The output does not have the documented format.
    #[error("understand what git {verb} printed")]
    Unexpected {
        /// Subcommand.
        verb: String,
    },
    /// The path does not exist or cannot be entered.
    #[error("open {path}", path = path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// There is no repository at the path or above it.
    #[error("find a git repository at {path}", path = path.display())]
    NotARepository {
        /// The path as given.
        path: PathBuf,
    },
    /// Git does not trust a repository that another user owns.
    #[error(
        "use the repository at {path}: it belongs to another user. If you trust it, take it over with \
         `chown -R \"$USER\" {path}`, or run acquit as its owner",
        path = path.display()
    )]
    ForeignOwner {
        /// The path as given.
        path: PathBuf,
    },
    /// The repository has a format whose objects this version cannot borrow.
    #[error("use the repository at {path}: {what}", path = path.display())]
    Unsupported {
        /// The path as given.
        path: PathBuf,
        /// The unsupported property.
        what: String,
    },
    /// The repository has no commits to start from.
    #[error("find a commit to start from in {path}: the repository has no commits yet; make a first one", path = path.display())]
    NoCommits {
        /// Path of the repository.
        path: PathBuf,
    },
    /// The named base does not exist.
    #[error("find the branch or commit {name:?} in {path}", path = path.display())]
    UnknownBase {
        /// The name as given.
        name: String,
        /// Path of the repository.
        path: PathBuf,
    },
    /// The default branch of a remote is unknown.
    #[error("tell the default branch of the remote `{remote}` of {path}", path = path.display())]
    NoDefaultBranch {
        /// Name of the remote.
        remote: String,
        /// Path of the repository.
        path: PathBuf,
    },
    /// A name that cannot be part of a ref.
    #[error("use {name:?} as part of a ref name")]
    BadName {
        /// The name as given.
        name: String,
    },
}

impl Error {
    /// Returns why the disk took no data, if that is why git failed. Git reports it only in its messages.
    pub fn disk(&self) -> Option<Disk> {
        // Git does not give the reason for these.
        const UNWRITABLE: [&str; 2] = ["unable to create directory for", "Unable to create '"];
        let Self::Failed { stderr, .. } = self else { return None };
        if stderr.contains("No space left on device") {
            Some(Disk::Full)
        } else if stderr.contains("Read-only file system") {
            Some(Disk::ReadOnly)
        } else {
            UNWRITABLE.iter().any(|words| stderr.contains(words)).then_some(Disk::Unwritable)
        }
    }
}
