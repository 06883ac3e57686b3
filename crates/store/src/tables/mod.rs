//! What a database must be able to do with rows, inside a transaction, and with transactions as such. Each method is a
//! statement or two, without any thought: what is written when is decided in `step` and `database`.

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
    FleetTables, ParcelRow, SeenRow, StoredRow, WaitingRow, WorkerRow, seen_columns, stored_columns,
    waiting_columns,
};
pub(crate) use ledger::{DeliveryRow, LedgerTables, LetterRow, MessageRow, NightRow, letter_columns};
pub(crate) use queue::{EntryRow, QueueRow, Queues};

/// Rows, as one transaction sees them.
pub(crate) trait Tables: LedgerTables + FleetTables + Queues {
    /// What the store is told from others by.
    fn store_id(&mut self) -> Result<String>;
    /// A number for a new task.
    fn reserve(&mut self) -> Result<i64>;
    fn insert_task(&mut self, task: &TaskRow, definition: &DefinitionRow) -> Result<()>;
    /// The task's version; from here to the end of the transaction nobody else changes the task.
    fn lock_task(&mut self, task: i64) -> Result<Option<i64>>;
    fn update_task(&mut self, task: &TaskRow) -> Result<()>;
    /// The task's body.
    fn task(&mut self, task: i64) -> Result<Option<String>>;
    fn definition(&mut self, task: i64) -> Result<Option<String>>;
    /// Replaces what a task runs by.
    fn set_definition(&mut self, task: i64, definition: &DefinitionRow) -> Result<()>;
    fn list(&mut self, filter: &Filter) -> Result<Vec<SummaryRow>>;

    /// Makes these the failures that the task mends, as far as no other task mends them already.
    fn set_roots(&mut self, task: i64, project: &str, fingerprints: &[&str]) -> Result<()>;
    /// The task that mends a failure.
    fn root(&mut self, project: &str, fingerprint: &str) -> Result<Option<i64>>;
    /// Makes this what the task waits for.
    fn set_blocked(&mut self, task: i64, on: Option<&Blocked<'_>>) -> Result<()>;
    /// The tasks that wait for one which does not mend their failure any more.
    fn released(&mut self) -> Result<Vec<i64>>;

    fn insert_leg(&mut self, leg: &NewLeg<'_>) -> Result<()>;
    /// Ends a leg that runs under the fence or, without one, a leg that nobody has claimed.
    fn end_leg(&mut self, leg: Place, fence: Option<i64>, end: &LegEnd) -> Result<Touched>;
    /// Marks the active leg for its end, and makes it due: whoever claims it ends it, however long it was to wait.
    fn ask_cancel(&mut self, task: i64) -> Result<()>;
    /// Whether the hold is good; if so, it stays so to the end of the transaction.
    fn lock_hold(&mut self, hold: Hold) -> Result<Touched>;
    fn claim(&mut self, wanted: Wanted<'_>, terms: &Terms<'_>) -> Result<Option<LegRow>>;
    /// Says of a held leg whether its end was asked for; `None` if it is not held.
    fn pulse(&mut self, hold: Hold) -> Result<Option<bool>>;
    /// Renews a held leg's lease and says whether its end was asked for; `None` if it is not held.
    fn renew(&mut self, hold: Hold, until: Timestamp) -> Result<Option<bool>>;
    fn set_usage(&mut self, hold: Hold, usage: &str) -> Result<Touched>;
    fn legs(&mut self, task: i64) -> Result<Vec<LegRow>>;
    fn running(&mut self) -> Result<Vec<LegRow>>;

    /// Appends at least one event, and lets those who wait know. Last of all that a transaction does.
    fn append(&mut self, task: i64, events: &[NewEvent]) -> Result<()>;
    fn events(&mut self, task: Option<i64>, after: i64, limit: u32) -> Result<Vec<EventRow>>;
    /// Lets those who wait know of something that is no event.
    fn announce(&mut self, task: i64) -> Result<()>;

    /// Inserts a chunk unless there is one that begins at the same byte.
    fn insert_chunk(&mut self, leg: Place, chunk: &ChunkRow) -> Result<Touched>;
    /// The chunk that `from` lies in and those after it.
    fn chunks(&mut self, leg: Place, from: i64, limit: u32) -> Result<Vec<ChunkRow>>;
}

/// Transactions, time and waiting.
pub(crate) trait Backend {
    /// Looks at rows as they are now.
    fn read<T>(&mut self, looking: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T>;
    /// Changes rows: all of it once this returns `Ok`, else nothing.
    fn write<T>(&mut self, change: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T>;
    /// The moment by the store's clock.
    fn now(&mut self) -> Result<Timestamp>;
    /// See [`store::Store::wait`].
    fn wait(&mut self, at_most: Duration) -> store::Result<()>;
}

/// Whether a statement found its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// It did.
    Row,
    /// There is none that fits.
    Nothing,
}

impl Touched {
    pub(crate) fn rows(count: u64) -> Self {
        if count == 0 { Self::Nothing } else { Self::Row }
    }
}

/// A leg's key.
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

/// A leg to be made ready.
pub(crate) struct NewLeg<'a> {
    pub(crate) place: Place,
    pub(crate) stage: &'a str,
    pub(crate) entry: String,
    pub(crate) not_before: Timestamp,
    pub(crate) priority: i64,
    /// What it needs of the machine that runs it, as JSON.
    pub(crate) needs: String,
}

/// How a leg ended, as its row says it.
pub(crate) struct LegEnd {
    pub(crate) state: &'static str,
    pub(crate) at: Timestamp,
    pub(crate) usage: String,
}

/// The terms of a claim.
pub(crate) struct Terms<'a> {
    pub(crate) owner: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) lease_until: Timestamp,
}
