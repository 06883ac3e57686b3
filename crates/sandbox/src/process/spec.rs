//! The program to run, as a plain value that can be built, logged and compared before anything starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run contained.
#[derive(Debug, Clone)]
pub struct Spec {
    /// A path, or a name to look up in the `PATH` of [`Spec::env`]. A relative path is resolved against
    /// [`Spec::cwd`].
    pub program: OsString,
    /// Arguments, without the program name.
    pub args: Vec<OsString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// The complete environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdin,
    /// Destination of stdout, from which it is also tailed.
    pub stdout: Stdout,
    /// Destination of stderr.
    pub stderr: Stderr,
    /// When to stop it.
    pub limits: Limits,
    /// File with the [`Policy`](crate::sandbox::Policy). Without one, only the process tree is contained.
    pub policy: Option<PathBuf>,
}

/// A program's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Empty: the first read returns end of file.
    Closed,
    /// A file, such as a prompt. A file needs no writer that could block.
    File(PathBuf),
}

/// The file that receives stdout. Only its owner may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdout {
    /// Truncate the file first.
    Truncate(PathBuf),
    /// Append to the file. Existing content is not reported again.
    Append(PathBuf),
}

/// Destination of stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stderr {
    /// To the same file as stdout, in the order of writing.
    WithStdout,
    /// To a separate file, truncated first. It counts for the idle and output limits, but is not tailed.
    File(PathBuf),
}

/// When to stop a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum run time.
    pub time: Duration,
    /// Maximum time without output, if limited.
    pub idle: Option<Duration>,
    /// Maximum bytes written to each output file.
    pub output: u64,
    /// Time to exit after being asked to stop, before it is killed.
    pub grace: Duration,
}
