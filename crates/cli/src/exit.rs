//! Exit codes of commands, for scripts. Documented in `acquit help` and the README; they do not change.

use acquit_core::task::{End, State};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// The task failed, or found nothing to improve.
    Failed,
    /// Invalid arguments or unusable input.
    Usage,
    /// The task needs the user's input.
    NeedsPerson,
    /// It was cancelled.
    Cancelled,
    /// acquit itself, its store or its disk failed.
    Internal,
    /// The exit code of the program that was run.
    Program(u8),
}

impl Exit {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NeedsPerson => 3,
            Self::Cancelled => 4,
            Self::Internal => 5,
            Self::Program(code) => code,
        }
    }

    /// Returns the exit for a task's state.
    pub fn of(state: &State) -> Self {
        match state {
            State::Ended { end: End::Done } => Self::Done,
            State::Ended { end: End::Failed { .. } | End::NoImprovement } => Self::Failed,
            // A cancelled task may still be working; it ends on its own.
            State::Ended { end: End::Cancelled { .. } } | State::Working { cancel: Some(_), .. } => {
                Self::Cancelled
            }
            // Without a daemon that watches all tasks, the user decides when it continues.
            State::Waiting { .. } | State::Blocked { .. } => Self::NeedsPerson,
            State::New | State::Working { cancel: None, .. } => Self::Internal,
        }
    }
}

impl From<acquit_app::Kind> for Exit {
    fn from(kind: acquit_app::Kind) -> Self {
        match kind {
            acquit_app::Kind::Usage => Self::Usage,
            acquit_app::Kind::Internal => Self::Internal,
        }
    }
}

/// The section on exit codes in `acquit help`.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  the task failed, or found nothing to improve
  2  the command was not understood, or what it was given cannot be used
  3  a person must answer before the task goes on
  4  cancelled
  5  acquit itself, its store or its disk failed

Environment:
  ACQUIT_HOME   where acquit keeps workspaces, outputs and its store (default: the user's data folder)
  ACQUIT_STORE  the store: a path, or postgres://…  (default: acquit.db in ACQUIT_HOME)
  NO_COLOR      no colours";
