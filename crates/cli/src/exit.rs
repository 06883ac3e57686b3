//! Exit codes: how a command ended, for scripts. Documented in `acquit help` and the README; they do not change.

use acquit_core::task::{End, State};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// The task failed, or found nothing to improve.
    Failed,
    /// The command was not understood, or what it was given cannot be used.
    Usage,
    /// A person must answer before it goes on.
    NeedsPerson,
    /// It was cancelled.
    Cancelled,
    /// acquit itself, its store or its disk failed.
    Internal,
    /// As the program ended that was run.
    Program(u8),
}

impl Exit {
    /// The number.
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

    /// How a task stands, as an exit.
    pub fn of(state: &State) -> Self {
        match state {
            State::Ended { end: End::Done } => Self::Done,
            State::Ended { end: End::Failed { .. } | End::NoImprovement } => Self::Failed,
            // One that is still working has been left to end by itself.
            State::Ended { end: End::Cancelled { .. } } | State::Working { cancel: Some(_), .. } => {
                Self::Cancelled
            }
            // Without somebody who watches over all tasks, a person says when it goes on.
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

/// What `acquit help` says about them.
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
