//! The trait that databases implement: SQLite and PostgreSQL. One test suite covers both.
//!
//! Harnesses, command line and dashboard never talk to each other; they meet only in the store. Every method is one
//! transaction. A harness writes only with its [`Hold`]. Once another claim raises the leg's fence, or the leg ends,
//! each of its writes fails with [`Error::Fenced`] and it must stop its agent.

mod fleet;
mod ledger;

use std::sync::Arc;
use std::time::Duration;

pub use fleet::Fleet;
pub use ledger::{Delivery, Follow, Ledger, Letter, Mark, Message, Nights, Post, Recorded, Standing};

use crate::agent::{Chunk, Usage};
use crate::change::Change;
use crate::definition::Definition;
use crate::delivery::queue::{Candidate, Entry, Place, Queue, Settled};
use crate::event::{Body, Event};
use crate::fingerprint::Fingerprint;
use crate::ids::{LegId, StoreId, TaskId};
use crate::leg::{Hold, Leg, Owner};
use crate::task::{Actor, Summary, Task};
use crate::time::Timestamp;

/// Number of events to read at a time.
const PAGE: u32 = 500;

/// Calls `hear` with every event of a task, or of all tasks, in order.
pub fn each_event(store: &mut dyn Store, task: Option<TaskId>, mut hear: impl FnMut(Event)) -> Result<()> {
    let mut after = 0;
    loop {
        let events = store.events(task, after, PAGE)?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.seq;
        events.into_iter().for_each(&mut hear);
    }
}

/// A result of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The task changed since it was read. Read and decide again.
    #[error("task {0} has changed meanwhile")]
    Conflict(TaskId),
    /// The harness no longer holds the leg.
    #[error("leg {0} is no longer held by this harness")]
    Fenced(LegId),
    /// The task does not exist.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// Data of this repository that a task needs was removed from the store. Send it again.
    #[error("the repository {0} was removed from the store meanwhile")]
    Removed(String),
    /// A newer acquit wrote this store.
    #[error("the store has version {found}, and this acquit knows only {known}")]
    Newer {
        /// Version of the store.
        found: i64,
        /// Newest version that this program supports.
        known: i64,
    },
    /// A stored record cannot be parsed.
    #[error("the stored {what} cannot be read")]
    Corrupt {
        /// The record.
        what: String,
        /// The parser's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database disk is full. Retrying does not help until someone frees space.
    #[error("the database does not {doing}")]
    Full {
        /// The failed operation, to follow "does not".
        doing: &'static str,
        /// The database's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database cannot be written to. Retrying does not help until someone makes it writable.
    #[error("the database does not {doing}")]
    ReadOnly {
        /// The failed operation, to follow "does not".
        doing: &'static str,
        /// The database's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database refused or is unreachable.
    #[error("the database does not {doing}")]
    Database {
        /// The failed operation, to follow "does not".
        doing: &'static str,
        /// The database's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Returns why the disk took no data, if that is the cause.
    pub fn disk(&self) -> Option<Disk> {
        match self {
            Self::Full { .. } => Some(Disk::Full),
            Self::ReadOnly { .. } => Some(Disk::ReadOnly),
            Self::Conflict(_)
            | Self::Fenced(_)
            | Self::NoTask(_)
            | Self::Removed(_)
            | Self::Newer { .. }
            | Self::Corrupt { .. }
            | Self::Database { .. } => None,
        }
    }
}

/// Why a disk takes no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// It is full.
    Full,
    /// It is read-only.
    ReadOnly,
    /// The program that failed does not report the reason.
    Unwritable,
}

/// A decided step of a task, to be written atomically.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The task for which the step was decided. Its version guards the write.
    pub before: &'a Task,
    /// Changes to apply.
    pub changes: &'a [Change],
    /// Who made them.
    pub by: &'a Actor,
    /// Claim under which they are made, if they end or hold a leg.
    pub hold: Option<Hold>,
    /// Events to append before those of the changes: events of the leg since its last write.
    pub notes: &'a [Note],
}

/// An event to store that does not change its task.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Time of the event.
    pub at: Timestamp,
    /// Content of the event.
    pub body: Body,
}

/// A claimed leg with everything a harness needs to run it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The right to write for the leg.
    pub hold: Hold,
    /// The leg.
    pub leg: Leg,
    /// Its task.
    pub task: Task,
    /// The task's definition.
    pub definition: Definition,
}

/// Which legs a harness claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Any leg that is due and that no limit keeps waiting, highest priority first, then in turns by project, then oldest.
    Any,
    /// The leg of this task, ignoring limits: a person asked for it.
    Of(TaskId),
    /// The leg of this task, unless a limit keeps it waiting.
    Due(TaskId),
    /// A leg whose requirements this worker meets; of this task, if one is named.
    By(&'a str, Option<TaskId>),
}

/// Whether a harness should continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Continue.
    Beating,
    /// A person asked to cancel.
    Cancel,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only tasks of the repository at this path.
    pub project: Option<String>,
    /// Only tasks whose [`crate::task::State::word`] is this.
    pub state: Option<String>,
    /// Only tasks that have a running leg, or only those that have none.
    pub running: Option<bool>,
    /// Whether to include finished tasks.
    pub ended: bool,
    /// Only tasks of repositories with this short name.
    pub name: Option<String>,
    /// Only tasks of this workflow.
    pub workflow: Option<String>,
    /// Only tasks that were added at or before this time.
    pub before: Option<Timestamp>,
    /// Only tasks that were added at or after this time.
    pub since: Option<Timestamp>,
    /// Only tasks with a smaller id.
    pub below: Option<TaskId>,
    /// Only tasks that have all of these tags.
    pub tags: Vec<String>,
    /// Only tasks whose title contains this text in any case, or whose id it is.
    pub search: Option<String>,
    /// Maximum number of tasks, newest first.
    pub limit: u32,
}

/// A task with its definition.
pub type Defined = (Task, Arc<Definition>);

/// acquit's database.
pub trait Store: Ledger + Fleet {
    /// Returns the id that distinguishes this store from all others. It is assigned once, on creation.
    fn id(&mut self) -> Result<StoreId>;

    /// Fails with [`Error::Newer`] if a newer acquit has migrated the store since it was opened. What runs may be finished
    /// then, but nothing begins.
    fn check_version(&mut self) -> Result<()>;

    /// Returns how often leases were renewed, of all legs in the store.
    fn renewals(&mut self) -> Result<u64>;

    /// Reserves a unique task id. Unused ids are never reused.
    fn reserve(&mut self) -> Result<TaskId>;

    /// Stores a new task. `changes` start with [`Change::Created`]; folding them gives the task. Fails with
    /// [`Error::Removed`] if the store no longer has its repository.
    fn create(&mut self, definition: &Definition, changes: &[Change], by: &Actor) -> Result<Task>;

    /// Returns the current task.
    fn task(&mut self, id: TaskId) -> Result<Task>;

    /// Returns the definition of a task.
    fn definition(&mut self, id: TaskId) -> Result<Definition>;

    /// Returns those of these tasks that exist, with their definitions. An unreadable task is a separate error.
    fn tasks(&mut self, ids: &[TaskId]) -> Result<Vec<Result<Defined>>>;

    /// Lists tasks.
    fn list(&mut self, filter: &Filter) -> Result<Vec<Summary>>;

    /// Writes a decided step: applies the changes to the task and its legs, appends their events and increments the
    /// version. Fails with [`Error::Conflict`] if the task's version differs from that of `before`, and with
    /// [`Error::Fenced`] if the hold is stale.
    fn commit(&mut self, commit: Commit<'_>) -> Result<Task>;

    /// Writes decided steps of different tasks in one transaction, with a few statements for all of them. Each succeeds
    /// or fails separately, as in [`Store::commit`]; returns the results in the same order.
    fn commit_all(&mut self, commits: &[Commit<'_>]) -> Result<Vec<Result<Task>>>;

    /// Claims a ready leg that is due: marks it running and gives it a lease and a fence higher than any before.
    fn claim(&mut self, wanted: Wanted<'_>, owner: &Owner, lease: Duration) -> Result<Option<Claim>>;

    /// Checks whether the harness still holds the leg and whether a person asked to cancel. Writes nothing, so that a
    /// thousand harnesses can call it often.
    fn pulse(&mut self, hold: Hold) -> Result<Pulse>;

    /// Does the same as [`Store::pulse`] and renews the lease.
    fn heartbeat(&mut self, hold: Hold, lease: Duration) -> Result<Pulse>;

    /// Appends events of a leg.
    fn note(&mut self, hold: Hold, notes: &[Note]) -> Result<()>;

    /// Appends to a leg's transcript, sets its usage so far and appends the notes that arrived with it, in one commit.
    /// Ignores a chunk that is already stored (same `from`), so that repeating the call is harmless.
    fn transcribe(&mut self, hold: Hold, chunk: &Chunk, usage: &Usage, notes: &[Note]) -> Result<()>;

    /// Returns up to `limit` chunks of a leg's transcript in order, starting at a byte of its output.
    fn transcript(&mut self, leg: LegId, from: u64, limit: u32) -> Result<Vec<Chunk>>;

    /// Returns events after `after` in order, of one task or of all.
    fn events(&mut self, task: Option<TaskId>, after: i64, limit: u32) -> Result<Vec<Event>>;

    /// Returns the task that is fixing a failure in the repository at this path, if any.
    fn root(&mut self, project: &str, fingerprint: &Fingerprint) -> Result<Option<TaskId>>;

    /// Returns blocked tasks whose blocking task has ended or no longer fixes their failure.
    fn released(&mut self) -> Result<Vec<TaskId>>;

    /// Returns the legs of a task, oldest first.
    fn legs(&mut self, task: TaskId) -> Result<Vec<Leg>>;

    /// Returns the running legs of all tasks, each with the state of its lease.
    fn running(&mut self) -> Result<Vec<(Leg, Lease)>>;

    /// Adds a candidate to a merge queue. Replaces any queue entry of the leg's task.
    fn enter_queue(&mut self, hold: Hold, queue: &Queue, candidate: &Candidate) -> Result<()>;

    /// Returns the entries of a merge queue whose legs are running, in the order in which they were claimed.
    fn queue(&mut self, queue: &Queue) -> Result<Vec<Entry>>;

    /// Returns a task's entry in a merge queue, even if its leg has ended.
    fn queued(&mut self, task: TaskId) -> Result<Option<Entry>>;

    /// Makes the leg the head of the queue unless another running leg is, and returns which leg it is.
    fn lead_queue(&mut self, hold: Hold, queue: &Queue) -> Result<Place>;

    /// Records the commits that the branch is about to move to, before it moves. Only the head may call this; others
    /// get [`Error::Fenced`].
    fn plan_merges(&mut self, hold: Hold, queue: &Queue, planned: &[(TaskId, String)]) -> Result<()>;

    /// Records the results of candidates. Only the head may call this.
    fn settle_merges(&mut self, hold: Hold, queue: &Queue, settled: &[(TaskId, Settled)]) -> Result<()>;

    /// Removes the task's entry from the queue. Its leg is no longer the head.
    fn leave_queue(&mut self, hold: Hold, queue: &Queue) -> Result<()>;

    /// Returns the time of the store's clock. Leases use it on every machine.
    fn now(&mut self) -> Result<Timestamp>;

    /// Returns when another process may have written something, or after `at_most`.
    fn wait(&mut self, at_most: Duration) -> Result<()>;
}

/// Whether the holder of a running leg renewed its lease in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Renewed in time.
    Valid,
    /// Not renewed in time: any process may declare the leg lost.
    Expired,
}
