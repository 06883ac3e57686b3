//! Operations on rows within a transaction, and on transactions, that a database must support. Each method is one or
//! two statements without logic: `step` and `database` decide what is written when.

use std::time::Duration;

use acquit_core::leg::Hold;
use acquit_core::store::{self, Filter, Wanted};
use acquit_core::time::Timestamp;

use crate::record::{ChunkRow, DefinitionRow, EventRow, LegRow, NewEvent, SummaryRow, TaskRow, WholeRow};
use crate::tx_error::Result;

mod fleet;
mod ledger;
mod queue;

pub(crate) use fleet::{
    FleetTables, FullRow, HeldRow, ParcelRow, SeenRow, StoredRow, WaitingRow, WorkerRow, full_columns,
    held_columns, seen_columns, stored_columns, waiting_columns,
};
pub(crate) use ledger::{DeliveryRow, LedgerTables, LetterRow, MessageRow, NightRow, letter_columns};
pub(crate) use queue::{EntryRow, QueueRow, Queues};

/// Rows within one transaction.
pub(crate) trait Tables: LedgerTables + FleetTables + Queues {
    /// Returns the id that distinguishes this store from others.
    fn store_id(&mut self) -> Result<String>;
    /// Returns the version of the tables.
    fn version(&mut self) -> Result<i64>;
    /// Reserves a number for a new task.
    fn reserve(&mut self) -> Result<i64>;
    fn insert_task(&mut self, task: &TaskRow, definition: &DefinitionRow) -> Result<()>;
    /// Locks tasks against changes by others until the end of the transaction, in the order of their ids. Returns the
    /// ids and versions of those that exist.
    fn lock_tasks(&mut self, tasks: &[i64]) -> Result<Vec<(i64, i64)>>;
    fn update_tasks(&mut self, tasks: &[TaskRow]) -> Result<()>;
    /// Returns the task's body.
    fn task(&mut self, task: i64) -> Result<Option<String>>;
    fn definition(&mut self, task: i64) -> Result<Option<String>>;
    /// Returns those of the tasks that exist.
    fn tasks(&mut self, tasks: &[i64]) -> Result<Vec<WholeRow>>;
    /// Replaces the definition of a task.
    fn set_definition(&mut self, task: i64, definition: &DefinitionRow) -> Result<()>;
    fn list(&mut self, filter: &Filter) -> Result<Vec<SummaryRow>>;

    /// Sets the failures this task is fixing, except those that another task is already fixing.
    fn set_roots(&mut self, task: i64, project: &str, fingerprints: &[&str]) -> Result<()>;
    /// Returns the task that fixes a failure.
    fn root(&mut self, project: &str, fingerprint: &str) -> Result<Option<i64>>;
    /// Sets what the task waits for.
    fn set_blocked(&mut self, task: i64, on: Option<&Blocked<'_>>) -> Result<()>;
    /// Returns the tasks that wait for a task which no longer fixes their failure.
    fn released(&mut self) -> Result<Vec<i64>>;

    /// Inserts legs of different tasks and gives each its turn. Those that are due by now say whose turn it is.
    fn insert_legs(&mut self, legs: &[NewLeg<'_>], now: Timestamp) -> Result<()>;
    /// Returns those of the legs that are as expected. They stay so until the end of the transaction.
    fn lock_legs(&mut self, legs: &[Expected]) -> Result<Vec<Expected>>;
    /// Ends legs that are locked.
    fn end_legs(&mut self, legs: &[LegEnd]) -> Result<()>;
    /// Marks the active leg for cancellation and makes it due, however long it was to wait: the process that claims it
    /// ends it.
    fn ask_cancel(&mut self, task: i64) -> Result<()>;
    /// Changes the priority of a task and of its leg, if that is ready. The leg is then the first of its priority.
    fn set_priority(&mut self, task: i64, priority: i64) -> Result<()>;
    /// Returns whether the hold is valid. If so, it stays valid until the end of the transaction.
    fn lock_hold(&mut self, hold: Hold) -> Result<Touched>;
    fn claim(&mut self, wanted: Wanted<'_>, terms: &Terms<'_>) -> Result<Option<LegRow>>;
    /// Returns whether cancellation was requested for a held leg; `None` if it is not held.
    fn pulse(&mut self, hold: Hold) -> Result<Option<bool>>;
    /// Renews a held leg's lease. Returns whether cancellation was requested; `None` if it is not held.
    fn renew(&mut self, hold: Hold, until: Timestamp) -> Result<Option<bool>>;
    /// Returns how often leases were renewed.
    fn renewals(&mut self) -> Result<i64>;
    fn set_usage(&mut self, hold: Hold, usage: &str) -> Result<Touched>;
    fn legs(&mut self, task: i64) -> Result<Vec<LegRow>>;
    fn running(&mut self) -> Result<Vec<LegRow>>;

    /// Appends at least one event and notifies those who wait. Must be the last operation of a transaction.
    fn append(&mut self, events: &[NewEvent]) -> Result<()>;
    fn events(&mut self, task: Option<i64>, after: i64, limit: u32) -> Result<Vec<EventRow>>;
    /// Notifies those who wait of a change without an event.
    fn announce(&mut self, task: i64) -> Result<()>;

    /// Inserts a chunk, unless one starts at the same byte.
    fn insert_chunk(&mut self, leg: Place, chunk: &ChunkRow) -> Result<Touched>;
    /// Returns the chunk that contains `from`, and those after it.
    fn chunks(&mut self, leg: Place, from: i64, limit: u32) -> Result<Vec<ChunkRow>>;
}

/// Transactions, time and waiting.
pub(crate) trait Backend {
    /// Newest version of the tables that this program knows.
    fn known(&self) -> i64;
    /// Reads rows as they are now.
    fn read<T>(&mut self, looking: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T>;
    /// Changes rows. Either all changes are stored when this returns `Ok`, or none.
    fn write<T>(&mut self, change: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T>;
    /// Returns the current time of the store's clock.
    fn now(&mut self) -> Result<Timestamp>;
    /// See [`store::Store::wait`].
    fn wait(&mut self, at_most: Duration) -> store::Result<()>;
}

/// Whether a statement found its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// The row was found.
    Row,
    /// No row matches.
    Nothing,
}

impl Touched {
    pub(crate) fn rows(count: u64) -> Self {
        if count == 0 { Self::Nothing } else { Self::Row }
    }
}

/// Key of a leg.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) task: i64,
    pub(crate) number: i64,
}

impl From<acquit_core::ids::LegId> for Place {
    fn from(leg: acquit_core::ids::LegId) -> Self {
        Self { task: crate::record::key(leg.task), number: i64::from(leg.number) }
    }
}

/// What a task waits for.
pub(crate) struct Blocked<'a> {
    pub(crate) root: i64,
    pub(crate) project: &'a str,
    pub(crate) fingerprint: &'a str,
}

/// A leg to make ready.
pub(crate) struct NewLeg<'a> {
    pub(crate) place: Place,
    pub(crate) stage: &'a str,
    pub(crate) entry: String,
    pub(crate) not_before: Timestamp,
    pub(crate) priority: i64,
    /// Its needs from the machine that runs it, as JSON.
    pub(crate) needs: String,
    /// The names of its pools, as JSON.
    pub(crate) pools: String,
    /// Path of its project, which it takes a turn of.
    pub(crate) project: String,
}

/// A leg as a writer expects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expected {
    pub(crate) task: i64,
    pub(crate) number: i64,
    /// Fence with which it runs; `None` if it is not claimed.
    pub(crate) fence: Option<i64>,
}

impl Expected {
    pub(crate) fn of(leg: acquit_core::ids::LegId, hold: Option<Hold>) -> Self {
        let Place { task, number } = leg.into();
        Self { task, number, fence: hold.map(|hold| hold.fence.0) }
    }
}

/// The end of a leg, as stored in its row.
pub(crate) struct LegEnd {
    pub(crate) place: Place,
    pub(crate) state: &'static str,
    pub(crate) at: Timestamp,
    pub(crate) usage: String,
}

/// Terms of a claim.
pub(crate) struct Terms<'a> {
    pub(crate) owner: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) lease_until: Timestamp,
}
