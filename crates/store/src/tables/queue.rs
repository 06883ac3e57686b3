//! What a database must be able to do with the rows of merge queues.

use acquit_core::delivery::queue::{Entry, Queue};
use acquit_core::ids::LegId;
use acquit_core::leg::Hold;

use super::Touched;
use crate::record::{plain, read, task_id};
use crate::tx_error::Result;

/// Rows of merge queues, as one transaction sees them.
pub(crate) trait Queues {
    /// Makes this the task's entry, instead of any that it had.
    fn enter(&mut self, queue: &QueueRow, hold: Hold, candidate: &str) -> Result<()>;
    /// The entries of a queue whose legs run, or were handed back and are to come again, in the order in which they came.
    fn entries(&mut self, queue: &QueueRow) -> Result<Vec<EntryRow>>;
    /// A task's entry, whether its leg runs or not.
    fn entry(&mut self, task: i64) -> Result<Option<EntryRow>>;
    /// Makes the leg the head of the queue, unless another leg that runs is.
    fn take_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()>;
    /// Whether the leg is the queue's head; if so, it stays so to the end of the transaction.
    fn is_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<Touched>;
    /// Gives up being the head.
    fn drop_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()>;
    fn set_planned(&mut self, queue: &QueueRow, task: i64, commit: &str) -> Result<()>;
    fn set_settled(&mut self, queue: &QueueRow, task: i64, settled: &str) -> Result<()>;
    /// Lets a leg that was handed back come again now.
    fn wake(&mut self, task: i64) -> Result<Touched>;
    fn leave(&mut self, task: i64) -> Result<()>;
}

/// A queue's key.
pub(crate) struct QueueRow {
    pub(crate) project: String,
    pub(crate) branch: String,
}

impl QueueRow {
    pub(crate) fn of(queue: &Queue) -> Self {
        Self { project: plain(&queue.project), branch: plain(&queue.branch) }
    }
}

/// An entry as its row has it.
pub(crate) struct EntryRow {
    pub(crate) task: i64,
    pub(crate) leg: i64,
    pub(crate) candidate: String,
    pub(crate) planned: Option<String>,
    pub(crate) settled: Option<String>,
}

impl EntryRow {
    pub(crate) fn entry(self) -> Result<Entry> {
        let what = "merge candidate";
        let task = task_id(self.task);
        Ok(Entry {
            leg: LegId { task, number: u32::try_from(self.leg).unwrap_or(u32::MAX) },
            candidate: read(what, &self.candidate)?,
            planned: self.planned,
            settled: self.settled.map(|text| read(what, &text)).transpose()?,
        })
    }
}
