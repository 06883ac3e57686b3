//! What can go wrong between wanting a program and having seen its end.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::status::{Failure, Step};

/// A program could not be started or watched. How a started program *ended* is never an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program.
    #[error("start {program:?}: no such program")]
    ProgramMissing {
        /// As it was asked for.
        program: PathBuf,
    },
    /// There is a file of that name, but it cannot be run.
    #[error("start {program:?}: not a program that can be executed here")]
    ProgramNotExecutable {
        /// As it was asked for.
        program: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The directory to start in is missing or closed.
    #[error("enter the directory {path:?}")]
    Cwd {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The file to read from cannot be opened.
    #[error("open the input of {program:?}")]
    Stdin {
        /// The program that was to read it.
        program: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// An output file cannot be made or read.
    #[error("use the output file {path:?}")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The helper executable could not be started.
    #[error("start the sandbox helper {helper:?}")]
    Helper {
        /// Its path.
        helper: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The helper could not prepare the program's surroundings.
    #[error("prepare {program:?}: {step}{}", with(.about))]
    Setup {
        /// The program that was to run.
        program: PathBuf,
        /// What failed.
        step: Step,
        /// With what.
        about: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The machine lacks a wall that the policy promises.
    #[error(
        "build the sandbox: this machine has no {missing}; `acquit doctor` says how to get it, and `sandbox = \"reduced\"` in \
         acquit.toml (`--reduced`) starts without"
    )]
    Promise {
        /// What it lacks.
        missing: String,
    },
    /// The helper ended, or answered nonsense, before the program was started.
    #[error("start {program:?}: the sandbox helper gave no answer")]
    Silent {
        /// The program that was to run.
        program: PathBuf,
    },
    /// The helper did not start the program in time.
    #[error("start {program:?} within {limit:?}")]
    StartLimit {
        /// The program that was to run.
        program: PathBuf,
        /// The time that it had.
        limit: Duration,
    },
    /// The kernel refused one of the means of watching.
    #[error("watch a process")]
    Watch {
        /// What the kernel said.
        #[from]
        source: io::Error,
    },
    /// A process is still there after SIGKILL: it hangs in the kernel, as on a dead network disk.
    #[error("end process {pid}: still there {limit:?} after it was killed")]
    Unkillable {
        /// Its number.
        pid: i32,
        /// How long was waited.
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
    /// Puts what the helper reported into the words of what was asked of it.
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
