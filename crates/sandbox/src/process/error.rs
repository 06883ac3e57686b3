//! Errors of starting and watching a program.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::status::{Failure, Step};

/// A program could not be started or watched. The way a started program *ended* is never an error, see `Exit`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program does not exist.
    #[error("start {program:?}: no such program")]
    ProgramMissing {
        /// The requested program.
        program: PathBuf,
    },
    /// The file exists but cannot be executed.
    #[error("start {program:?}: not a program that can be executed here")]
    ProgramNotExecutable {
        /// The requested program.
        program: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The working directory is missing or not accessible.
    #[error("enter the directory {path:?}")]
    Cwd {
        /// The directory.
        path: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The stdin file cannot be opened.
    #[error("open the input of {program:?}")]
    Stdin {
        /// The requested program.
        program: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// An output file cannot be created or read.
    #[error("use the output file {path:?}")]
    Output {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The helper executable could not be started.
    #[error("start the sandbox helper {helper:?}")]
    Helper {
        /// Its path.
        helper: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The helper failed to set up the sandbox.
    #[error("prepare {program:?}: {step}{}", with(.about))]
    Setup {
        /// The requested program.
        program: PathBuf,
        /// The step that failed.
        step: Step,
        /// Subject of the step, such as a path. May be empty.
        about: String,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The machine lacks a wall that the policy requires.
    #[error(
        "build the sandbox: this machine has no {missing}; `acquit doctor` says how to get it, and `sandbox = \"reduced\"` in \
         acquit.toml (`--reduced`) starts without"
    )]
    Promise {
        /// The missing walls.
        missing: String,
    },
    /// The helper ended or sent an invalid answer before the program was started.
    #[error("start {program:?}: the sandbox helper gave no answer")]
    Silent {
        /// The requested program.
        program: PathBuf,
    },
    /// The helper did not start the program in time.
    #[error("start {program:?} within {limit:?}")]
    StartLimit {
        /// The requested program.
        program: PathBuf,
        /// The timeout.
        limit: Duration,
    },
    /// A system call needed to watch a process failed.
    #[error("watch a process")]
    Watch {
        /// The kernel's error.
        #[from]
        source: io::Error,
    },
    /// A process is still there after SIGKILL: it hangs in the kernel, for example on a dead network file system.
    #[error("end process {pid}: still there {limit:?} after it was killed")]
    Unkillable {
        /// Its pid.
        pid: i32,
        /// Duration of the wait.
        limit: Duration,
    },
}

fn with(about: &str) -> String {
    if about.is_empty() { String::new() } else { format!(" ({about})") }
}

impl From<rustix::io::Errno> for Error {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Watch { source: errno.into() }
    }
}

impl Error {
    /// Converts a failure that the helper reported.
    pub(super) fn from_helper(failure: Failure, about: String, program: PathBuf, cwd: PathBuf) -> Self {
        let source = io::Error::from_raw_os_error(failure.errno);
        match failure.step {
            Step::Exec if source.kind() == io::ErrorKind::NotFound => Self::ProgramMissing { program },
            Step::Exec | Step::Interpreter => Self::ProgramNotExecutable { program, source },
            Step::Cwd => Self::Cwd { path: cwd, source },
            Step::Stdin => Self::Stdin { program, source },
            Step::Promise => Self::Promise { missing: about },
            step @ (Step::Arguments
            | Step::Parent
            | Step::Clone
            | Step::IdMap
            | Step::Policy
            | Step::View
            | Step::Network
            | Step::Walls
            | Step::Session
            | Step::Files) => Self::Setup { program, step, about, source },
        }
    }
}
