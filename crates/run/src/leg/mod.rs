//! What a leg has at hand, for the harness and for gates: its context, its job, programs in their sandbox, trees to work in.
//!
//! The harness says what happens when, and gates judge the work. Both stand on this module, which knows neither.

pub(crate) mod blocked_connections;
pub(crate) mod budget;
mod command;
mod context;
mod copies;
pub(crate) mod git_server;
pub(crate) mod outline;
pub(crate) mod program_sandbox;
mod setup;
pub(crate) mod stage_home;
pub(crate) mod stall;
pub(crate) mod upstream;
mod watch;
pub(crate) mod working_tree;

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use acquit_core::definition::Definition;
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::{Ending, Entry};
use acquit_core::store;
use acquit_core::task::Task;
use acquit_core::time::Span;
use acquit_core::workflow::Stage;

use self::git_server::Server;
use self::upstream::Upstream;
use crate::git::{CommitId, Source};
pub(crate) use acquit_core::failure::chain;
pub(crate) use command::{REPORTS, Ran, Reports, Running, Started, Wanted, command, start};
pub(crate) use context::LegContext;
pub(crate) use outline::ask;
pub(crate) use program_sandbox::{ProgramSandbox, Who};
pub(crate) use setup::{layer, setup_aside, setup_in_place};
pub(crate) use watch::Watch;
pub(crate) use working_tree::{TREE, WorkingTree};

/// How long a harness may be silent before others may declare its leg lost. Longer than any single call of git may take,
/// because nothing beats while git runs; a harness that died on this machine is found by its process, long before this.
pub const LEASE: Duration = Duration::from_mins(5);

/// How long something has to end by itself after it was asked to: time to write down a result, not to finish one.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Everything that a leg's steps look at.
#[derive(Clone)]
pub(crate) struct Job<'a> {
    pub(crate) task: &'a Task,
    pub(crate) definition: &'a Definition,
    pub(crate) entry: &'a Entry,
    pub(crate) stage: &'a Stage,
    pub(crate) source: Source,
    /// The commit that the leg starts from.
    pub(crate) start: CommitId,
    /// The commit of the base branch that the leg's work stands on.
    pub(crate) base: CommitId,
    /// The forge that the work goes to, whose base branch counts beside that of the user's repository.
    pub(crate) upstream: Option<Rc<Upstream>>,
    /// The plain git server that the repository comes from, where there is no such forge.
    pub(crate) server: Option<Rc<Server>>,
}

impl Job<'_> {
    /// The commit that the task's work is compared with.
    pub(crate) fn base(&self) -> CommitId {
        self.base.clone()
    }
}

/// What ends a leg before its own end.
pub(crate) enum LegAbort {
    /// The leg ends this way; the handoff says so.
    Leg(Ending),
    /// Nothing can be written any more.
    Store(store::Error),
}

impl From<store::Error> for LegAbort {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl LegAbort {
    /// The harness could not do its part.
    pub(crate) fn harness(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::failed(kind::HARNESS, format!("failed to {}", chain(error)))
    }

    /// A program could not be started. What the machine or the configuration lacks is for a person to add.
    pub(crate) fn process(error: &crate::process::Error) -> Self {
        use crate::process::Error;
        let lasting = match error {
            Error::ProgramMissing { .. } | Error::ProgramNotExecutable { .. } | Error::Promise { .. } => true,
            Error::Setup { source, .. } => {
                use std::io::ErrorKind::{InvalidInput, NotFound, PermissionDenied, Unsupported};
                matches!(source.kind(), PermissionDenied | NotFound | InvalidInput | Unsupported)
            }
            _ => false,
        };
        let kind = if lasting { kind::CONFIG } else { kind::HARNESS };
        Self::failed(kind, format!("failed to {}", chain(error)))
    }

    /// The configuration lacks something, or has something that cannot be.
    pub(crate) fn config(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::failed(kind::CONFIG, format!("failed to {}", chain(error)))
    }

    /// A file or folder of the harness's own could not be used.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::failed(kind::HARNESS, format!("failed to {doing} {}: {error}", path.display()))
    }

    /// The leg failed with a kind of failure.
    pub(crate) fn failed(kind: &'static str, reason: String) -> Self {
        Self::Leg(Ending::Failed { kind: Name::literal(kind), reason })
    }
}

impl From<crate::workspace::Error> for LegAbort {
    fn from(error: crate::workspace::Error) -> Self {
        match &error {
            crate::workspace::Error::Guardrail { what } => {
                Self::failed(kind::GUARDRAIL, format!("the agent did what no agent may: {what}"))
            }
            // Only a person can put this right, and trying again at once would find the same.
            crate::workspace::Error::Dirty { .. }
            | crate::workspace::Error::IndexLocked { .. }
            | crate::workspace::Error::Filtered { .. } => {
                Self::failed(kind::DELIVERY, format!("failed to {}", chain(&error)))
            }
            crate::workspace::Error::Unsafe { .. } => Self::config(&error),
            _ => Self::harness(&error),
        }
    }
}

/// Writes a file that only its owner reads, in the place of whatever is there.
pub(crate) fn private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    crate::workspace::remove_folder(path).map_err(std::io::Error::other)?;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// A length of time in the form of events.
pub(crate) fn span(duration: Duration) -> Span {
    Span::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
