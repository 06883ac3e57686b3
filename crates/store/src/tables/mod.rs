//! Operations on rows within a transaction, and on transactions, that a database must support. Each method is one or
//! two statements without logic: `step` and `database` decide what is written when.

use std::time::Duration;

use acquit_core::leg::Hold;
use acquit_core::store::{self, Filter, Wanted};
use acquit_core::time::Timestamp;

use crate::record::{ChunkRow, DefinitionRow, EventRow, LegRow, NewEvent, SummaryRow, TaskRow};
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
    /// Reserves a number for a new task.
    fn reserve(&mut self) -> Result<i64>;
    fn insert_task(&mut self, task: &TaskRow, definition: &DefinitionRow) -> Result<()>;
    /// Returns the task's version, and locks the task against changes by others until the end of the transaction.
    fn lock_task(&mut self, task: i64) -> Result<Option<i64>>;
    fn update_task(&mut self, task: &TaskRow) -> Result<()>;
    /// Returns the task's body.
    fn task(&mut self, task: i64) -> Result<Option<String>>;
    fn definition(&mut self, task: i64) -> Result<Option<String>>;
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

    fn insert_leg(&mut self, leg: &NewLeg<'_>) -> Result<()>;
    /// Ends a leg that runs with the fence, or without a fence a leg that is not claimed.
    fn end_leg(&mut self, leg: Place, fence: Option<i64>, end: &LegEnd) -> Result<Touched>;
    /// Marks the active leg for cancellation and makes it due, however long it was to wait: the process that claims it
    /// ends it.
    fn ask_cancel(&mut self, task: i64) -> Result<()>;
    /// Returns whether the hold is valid. If so, it stays valid until the end of the transaction.
    fn lock_hold(&mut self, hold: Hold) -> Result<Touched>;
    fn claim(&mut self, wanted: Wanted<'_>, terms: &Terms<'_>) -> Result<Option<LegRow>>;
    /// Returns whether cancellation was requested for a held leg; `None` if it is not held.
    fn pulse(&mut self, hold: Hold) -> Result<Option<bool>>;
    /// Renews a held leg's lease. Returns whether cancellation was requested; `None` if it is not held.
    fn renew(&mut self, hold: Hold, until: Timestamp) -> Result<Option<bool>>;
    fn set_usage(&mut self, hold: Hold, usage: &str) -> Result<Touched>;
    fn legs(&mut self, task: i64) -> Result<Vec<LegRow>>;
    fn running(&mut self) -> Result<Vec<LegRow>>;

    /// Appends at least one event and notifies those who wait. Must be the last operation of a transaction.
    fn append(&mut self, task: i64, events: &[NewEvent]) -> Result<()>;
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
    /// What it needs from the machine that runs it, as JSON.
    pub(crate) needs: String,
    /// The names of its pools, as JSON.
    pub(crate) pools: String,
    /// Path of its project, which it takes a turn of.
    pub(crate) project: &'a str,
    /// Now: legs that are due by then say whose turn it is.
    pub(crate) now: Timestamp,
}

/// The end of a leg, as stored in its row.
pub(crate) struct LegEnd {
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
