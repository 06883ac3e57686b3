//! Shared parts of a leg for the harness and for gates: context, job, sandboxed programs, working trees.
//!
//! The harness decides what happens when, and gates judge the work. Both use this module, which depends on neither.

pub(crate) mod blocked_connections;
pub(crate) mod budget;
mod command;
mod context;
mod copies;
pub(crate) mod git_server;
mod manifest;
pub(crate) mod outline;
pub(crate) mod program_sandbox;
mod setup;
pub(crate) mod stage_home;
pub(crate) mod stall;
pub(crate) mod upstream;
mod watch;
mod watchdog;
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
use crate::runtime::Runtime;
pub(crate) use acquit_core::failure::chain;
pub(crate) use command::{
    REPORTS, Ran, Reports, Running, Started, Wanted, command, is_killed, killed_again, start,
};
pub(crate) use context::LegContext;
pub(crate) use outline::ask;
pub(crate) use program_sandbox::{ProgramSandbox, Who};
pub(crate) use setup::{layer, setup_aside, setup_in_place, setup_key};
pub(crate) use watch::Watch;
pub(crate) use working_tree::{TREE, WorkingTree};

/// How long a harness may be silent before others may declare its leg lost. It is longer than git calls take, because
/// the lease is not renewed while git runs: a worker whose git takes longer loses the leg. On the same machine it does
/// not lose the leg: a harness there that died or was stopped is detected by its process.
pub const LEASE: Duration = Duration::from_mins(5);

/// Returns how long the leases of this process last: [`LEASE`], unless a test shortens it.
pub(crate) fn lease(runtime: &Runtime) -> Duration {
    crate::fault::lease(&runtime.environment).unwrap_or(LEASE)
}

/// Time to exit after a request to stop: enough to write a result, not to finish one.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Input of the steps of a leg.
#[derive(Clone)]
pub(crate) struct Job<'a> {
    pub(crate) task: &'a Task,
    pub(crate) definition: &'a Definition,
    pub(crate) entry: &'a Entry,
    pub(crate) stage: &'a Stage,
    pub(crate) source: Source,
    /// Start commit of the leg.
    pub(crate) start: CommitId,
    /// Base-branch commit the leg's work is based on.
    pub(crate) base: CommitId,
    /// Forge that the work goes to. Its base branch counts in addition to that of the user's repository.
    pub(crate) upstream: Option<Rc<Upstream>>,
    /// Plain git server that the repository comes from, if there is no such forge.
    pub(crate) server: Option<Rc<Server>>,
}

impl Job<'_> {
    /// Returns the commit that the task's work is compared with.
    pub(crate) fn base(&self) -> CommitId {
        self.base.clone()
    }
}

/// Why a leg ends early.
pub(crate) enum LegAbort {
    /// The leg ends this way; the handoff says so.
    Leg(Ending),
    /// The store failed, so nothing can be written any more.
    Store(store::Error),
}

impl From<store::Error> for LegAbort {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl LegAbort {
    /// The harness failed.
    pub(crate) fn harness(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::Leg(broken(error, format!("failed to {}", chain(error))))
    }

    /// A program could not be started. If the machine or the configuration lacks something, a person must add it.
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
        if lasting { Self::config(error) } else { Self::harness(error) }
    }

    /// The configuration is incomplete or invalid.
    pub(crate) fn config(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::failed(kind::CONFIG, format!("failed to {}", chain(error)))
    }

    /// A file or directory of the harness itself could not be used.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Leg(broken(error, format!("failed to {doing} {}: {error}", path.display())))
    }

    /// The leg failed with this kind of failure.
    pub(crate) fn failed(kind: &'static str, reason: String) -> Self {
        Self::Leg(Ending::Failed { kind: Name::literal(kind), reason })
    }
}

/// How long a leg waits after one that met a full disk. Another machine may take it at once, but this one must notice first.
const FULL: Span = Span::secs(10);

/// Returns the ending of a leg whose harness failed. A full disk says nothing about the work, so it is only held.
pub(crate) fn broken(error: &(dyn std::error::Error + 'static), reason: String) -> Ending {
    if crate::room::is_full(error) {
        return Ending::Held { kind: Name::literal(kind::DISK), wait: FULL, reason };
    }
    Ending::Failed { kind: Name::literal(kind::HARNESS), reason }
}

impl From<crate::workspace::Error> for LegAbort {
    fn from(error: crate::workspace::Error) -> Self {
        match &error {
            crate::workspace::Error::Guardrail { what } => {
                Self::failed(kind::GUARDRAIL, format!("the agent did what no agent may: {what}"))
            }
            // Only a person can fix this. An immediate retry would fail the same way.
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

/// Writes a file that only its owner can read, replacing whatever is there.
pub(crate) fn private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    crate::workspace::remove_folder(path).map_err(std::io::Error::other)?;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Converts a duration to the type that events use.
pub(crate) fn span(duration: Duration) -> Span {
    Span::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
