//! What acquit needs of a database. Two implement it, SQLite and PostgreSQL, and one suite of tests holds both to it.
//!
//! The store is the only meeting place: harnesses, command line and dashboard never talk to each other. Every method is
//! one transaction. A harness writes only with its [`Hold`]: once another claim has raised the leg's fence, or the leg
//! has ended, each of its writes fails with [`Error::Fenced`], and it must stop its agent.

mod fleet;
mod ledger;

use std::time::Duration;

pub use fleet::Fleet;
pub use ledger::{Delivery, Follow, Ledger, Letter, Mark, Message, Nights, Post, Ready, Recorded, Standing};

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

/// How many events are read at a time.
const PAGE: u32 = 500;

/// Hears all events of a task, or of all tasks, in order.
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

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else changed the task since it was read: read again, decide again.
    #[error("task {0} has changed meanwhile")]
    Conflict(TaskId),
    /// The leg is not this harness's any more.
    #[error("leg {0} is no longer held by this harness")]
    Fenced(LegId),
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// A newer acquit wrote this store.
    #[error("the store has version {found}, and this acquit knows only {known}")]
    Newer {
        /// The store's version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// What is stored cannot be read back.
    #[error("the stored {what} cannot be read")]
    Corrupt {
        /// Which record.
        what: String,
        /// The reader's words.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk of the database is full: trying again does not help until somebody makes room.
    #[error("the database does not {doing}")]
    Full {
        /// What was asked of it, to fit after "does not".
        doing: &'static str,
        /// The database's own words.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database refused, or cannot be reached.
    #[error("the database does not {doing}")]
    Database {
        /// What was asked of it, to fit after "does not".
        doing: &'static str,
        /// The database's own words.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A decided step of a task, ready to be written: all of it or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The task as it was when the step was decided. Its version guards the write.
    pub before: &'a Task,
    /// The changes.
    pub changes: &'a [Change],
    /// Who made them.
    pub by: &'a Actor,
    /// The claim under which they are made, where they end or hold a leg.
    pub hold: Option<Hold>,
    /// Events to append before those of the changes: what the leg saw since it last wrote.
    pub notes: &'a [Note],
}

/// An event that does not change its task, on its way to the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub body: Body,
}

/// A claimed leg with all that a harness needs to run it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The right to write.
    pub hold: Hold,
    /// The leg.
    pub leg: Leg,
    /// Its task.
    pub task: Task,
    /// What the task runs by.
    pub definition: Definition,
}

/// Which legs a harness would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Any that is due, highest priority first, then oldest.
    Any,
    /// The one of this task.
    Of(TaskId),
    /// One that this worker offers everything for: of this task, if one is named.
    By(&'a str, Option<TaskId>),
}

/// Whether a harness is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Go on.
    Beating,
    /// A person asked for the end.
    Cancel,
}

/// Which tasks a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those of the repository at this path.
    pub project: Option<String>,
    /// Only those whose [`crate::task::State::word`] is this.
    pub state: Option<String>,
    /// Whether those that are over are shown as well.
    pub ended: bool,
    /// At most so many, newest first.
    pub limit: u32,
}

/// The database of acquit.
pub trait Store: Ledger + Fleet {
    /// What tells this store from all others. Given once, when it is made.
    fn id(&mut self) -> Result<StoreId>;

    /// A task id that nobody else gets. Unused ones are not given out again.
    fn reserve(&mut self) -> Result<TaskId>;

    /// Puts a new task into the store. `changes` begin with [`Change::Created`]; the task is what they fold to.
    fn create(&mut self, definition: &Definition, changes: &[Change], by: &Actor) -> Result<Task>;

    /// The task as it is now.
    fn task(&mut self, id: TaskId) -> Result<Task>;

    /// What the task runs by.
    fn definition(&mut self, id: TaskId) -> Result<Definition>;

    /// Tasks in short.
    fn list(&mut self, filter: &Filter) -> Result<Vec<Summary>>;

    /// Writes a decided step: applies the changes to the task and to its legs, appends their events, raises the version.
    /// Fails with [`Error::Conflict`] if the task's version is not that of `before`, with [`Error::Fenced`] if the hold is stale.
    fn commit(&mut self, commit: Commit<'_>) -> Result<Task>;

    /// Takes a ready leg whose time has come: makes it running, gives it a fence higher than any before, and a lease.
    fn claim(&mut self, wanted: Wanted<'_>, owner: &Owner, lease: Duration) -> Result<Option<Claim>>;

    /// Looks whether the leg is still this harness's, and whether a person asked for its end. Writes nothing, so that a thousand
    /// harnesses can ask often.
    fn pulse(&mut self, hold: Hold) -> Result<Pulse>;

    /// The same, and renews the lease.
    fn heartbeat(&mut self, hold: Hold, lease: Duration) -> Result<Pulse>;

    /// Appends events of a leg.
    fn note(&mut self, hold: Hold, notes: &[Note]) -> Result<()>;

    /// Appends to a leg's transcript and sets what it has used so far, with the notes that arrived together, in one commit.
    /// A chunk that is already there (same `from`) is left alone, so that repeating is harmless.
    fn transcribe(&mut self, hold: Hold, chunk: &Chunk, usage: &Usage, notes: &[Note]) -> Result<()>;

    /// A leg's transcript from a byte of its output on, in order, at most `limit` chunks.
    fn transcript(&mut self, leg: LegId, from: u64, limit: u32) -> Result<Vec<Chunk>>;

    /// Events after `after`, in order, of one task or of all.
    fn events(&mut self, task: Option<TaskId>, after: i64, limit: u32) -> Result<Vec<Event>>;

    /// The task that mends a failure in the repository at this path, if one does.
    fn root(&mut self, project: &str, fingerprint: &Fingerprint) -> Result<Option<TaskId>>;

    /// The tasks that wait for another which is over by now, or does not mend their failure any more.
    fn released(&mut self) -> Result<Vec<TaskId>>;

    /// The legs of a task, oldest first.
    fn legs(&mut self, task: TaskId) -> Result<Vec<Leg>>;

    /// Legs that are running now, of all tasks, with whether their lease is over.
    fn running(&mut self) -> Result<Vec<(Leg, Lease)>>;

    /// Puts a candidate into a merge queue, instead of any that the leg's task had in one.
    fn enter_queue(&mut self, hold: Hold, queue: &Queue, candidate: &Candidate) -> Result<()>;

    /// The entries of a merge queue whose legs run, those first that were claimed first.
    fn queue(&mut self, queue: &Queue) -> Result<Vec<Entry>>;

    /// A task's entry in a merge queue, also when its leg is over.
    fn queued(&mut self, task: TaskId) -> Result<Option<Entry>>;

    /// Makes the leg the queue's head if no other leg that runs is, and says which it is.
    fn lead_queue(&mut self, hold: Hold, queue: &Queue) -> Result<Place>;

    /// Writes down which commits the branch is about to be moved to, before it is. Only for the head; others are
    /// [`Error::Fenced`].
    fn plan_merges(&mut self, hold: Hold, queue: &Queue, planned: &[(TaskId, String)]) -> Result<()>;

    /// Says what became of candidates. Only for the head.
    fn settle_merges(&mut self, hold: Hold, queue: &Queue, settled: &[(TaskId, Settled)]) -> Result<()>;

    /// Takes the task's entry out of the queue; its leg is the head no more.
    fn leave_queue(&mut self, hold: Hold, queue: &Queue) -> Result<()>;

    /// The moment by the store's clock. Leases are measured by it, on whatever machine.
    fn now(&mut self) -> Result<Timestamp>;

    /// Returns when something may have been written by somebody else, or after `at_most`.
    fn wait(&mut self, at_most: Duration) -> Result<()>;
}

/// Whether a running leg's holder has been heard of in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It has.
    Valid,
    /// It has not: whoever finds it may declare the leg lost.
    Expired,
}
