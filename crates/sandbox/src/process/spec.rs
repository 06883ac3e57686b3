//! What is to be run: a value without behaviour, so that it can be built, logged and compared before anything starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run contained, with everything that it will have.
#[derive(Debug, Clone)]
pub struct Spec {
    /// A path, or a name that is looked up in the `PATH` of [`Spec::env`]. A relative path counts from [`Spec::cwd`].
    pub program: OsString,
    /// The arguments, without the program's name.
    pub args: Vec<OsString>,
    /// The directory in which the program starts.
    pub cwd: PathBuf,
    /// The complete environment: nothing else is passed on.
    pub env: Vec<(OsString, OsString)>,
    /// What the program reads.
    pub stdin: Stdin,
    /// Where its output goes, and from where it is tailed.
    pub stdout: Stdout,
    /// Where its errors go.
    pub stderr: Stderr,
    /// When it is stopped.
    pub limits: Limits,
    /// The file with the [`Policy`](crate::sandbox::Policy) that holds it. Without one only its processes are held together.
    pub policy: Option<PathBuf>,
}

/// What a program reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: the first read is the end.
    Closed,
    /// A file, such as a prompt. A file needs no writer, so nobody can block.
    File(PathBuf),
}

/// The file that receives a program's output; made readable by its owner only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdout {
    /// Begins empty.
    Truncate(PathBuf),
    /// Begins after what is there, which is not reported again.
    Append(PathBuf),
}

/// The file that receives what a program writes to its standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stderr {
    /// The same file as its output, in the order of writing.
    WithStdout,
    /// A file of its own, begun empty. It counts for the idle and the output limit, but is not tailed.
    File(PathBuf),
}

/// When a program is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest that it may run.
    pub time: Duration,
    /// The longest that it may write nothing, if that is limited.
    pub idle: Option<Duration>,
    /// The most bytes that it may write, to each of its output files.
    pub output: u64,
    /// The time that it has for ending by itself after it was asked to.
    pub grace: Duration,
}
