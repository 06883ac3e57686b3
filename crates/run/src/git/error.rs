//! Why a call of git, or a look at the user's repository, did not work.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::process;

/// What went wrong. Messages continue a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started at all.
    #[error("run git")]
    Start(#[source] process::Error),
    /// Git ran and said no.
    #[error("run git {verb} (exit code {code}): {stderr}", code = code.map_or("none".into(), |c| c.to_string()))]
    Failed {
        /// The subcommand.
        verb: String,
        /// Its exit code; none when a signal ended it.
        code: Option<i32>,
        /// What it said, bounded, with invalid UTF-8 replaced.
        stderr: String,
    },
    /// A program that makes or checks signatures could not be run.
    #[error("run {program}")]
    Signer {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        source: Box<process::Error>,
    },
    /// A program did not sign.
    #[error("sign with {program}: {why}")]
    NotSigned {
        /// The program.
        program: String,
        /// What it said.
        why: String,
    },
    /// It took longer than it may.
    #[error("run git {verb}: it did not finish within {limit:?}")]
    TimedOut {
        /// The subcommand.
        verb: String,
        /// The limit that was reached.
        limit: Duration,
    },
    /// It printed more than it may.
    #[error("run git {verb}: it printed more than {limit} bytes")]
    TooMuchOutput {
        /// The subcommand.
        verb: String,
        /// The limit that was reached.
        limit: u64,
    },
    /// What it received is larger than this process may write.
    #[error("run git {verb}: it received more than {limit} bytes")]
    TooLarge {
        /// The subcommand.
        verb: String,
        /// The limit that was reached.
        limit: u64,
    },
    /// A checkout has more uncommitted work than is taken from it.
    #[error("take {bytes} bytes of uncommitted work: {most} are the most, and {path:?} alone has {size}", path = path.display())]
    TooMuchWork {
        /// How much there is.
        bytes: u64,
        /// How much is taken.
        most: u64,
        /// The largest file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// A partial clone lacks files of a commit.
    #[error("use commit {} of {}: {missing} of its files are not in this partial clone", commit.short(), path.display())]
    Partial {
        /// The clone.
        path: PathBuf,
        /// The commit.
        commit: super::CommitId,
        /// How many files and folders.
        missing: usize,
    },
    /// It printed something else than its format promises.
    #[error("understand what git {verb} printed")]
    Unexpected {
        /// The subcommand.
        verb: String,
    },
    /// The path does not exist or cannot be entered.
    #[error("open {path}", path = path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no repository at the path or above it.
    #[error("find a git repository at {path}", path = path.display())]
    NotARepository {
        /// The path as given.
        path: PathBuf,
    },
    /// Git does not trust a repository that belongs to somebody else.
    #[error(
        "use the repository at {path}: it belongs to another user. If you trust it, run acquit as its owner or change \
         the owner of the folder",
        path = path.display()
    )]
    ForeignOwner {
        /// The path as given.
        path: PathBuf,
    },
    /// The repository's format is one this version cannot lend objects from.
    #[error("use the repository at {path}: {what}", path = path.display())]
    Unsupported {
        /// The path as given.
        path: PathBuf,
        /// Which property.
        what: String,
    },
    /// There is nothing to start from.
    #[error("find a commit to start from in {path}: the repository has no commits yet; make a first one", path = path.display())]
    NoCommits {
        /// The repository.
        path: PathBuf,
    },
    /// The named base is not there.
    #[error("find the branch or commit {name:?} in {path}", path = path.display())]
    UnknownBase {
        /// As named by the user.
        name: String,
        /// The repository.
        path: PathBuf,
    },
    /// Nobody says which branch of a remote is its default one.
    #[error("tell the default branch of the remote `{remote}` of {path}", path = path.display())]
    NoDefaultBranch {
        /// The remote.
        remote: String,
        /// The repository.
        path: PathBuf,
    },
    /// A name that cannot be part of a ref.
    #[error("use {name:?} as part of a ref name")]
    BadName {
        /// The name as given.
        name: String,
    },
}
