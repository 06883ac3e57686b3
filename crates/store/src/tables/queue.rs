//! Operations on the rows of merge queues that a database must support.

use acquit_core::delivery::queue::{Entry, Queue};
use acquit_core::ids::LegId;
use acquit_core::leg::Hold;

use super::Touched;
use crate::record::{plain, read, task_id};
use crate::tx_error::Result;

/// Rows of merge queues within one transaction.
pub(crate) trait Queues {
    /// Sets the task's entry, and replaces an existing one.
    fn enter(&mut self, queue: &QueueRow, hold: Hold, candidate: &str) -> Result<()>;
    /// Returns the entries of a queue whose legs run, or were handed back and will come again, in order of arrival.
    fn entries(&mut self, queue: &QueueRow) -> Result<Vec<EntryRow>>;
    /// Returns a task's entry, whether its leg runs or not.
    fn entry(&mut self, task: i64) -> Result<Option<EntryRow>>;
    /// Makes the leg the head of the queue, unless another running leg is.
    fn take_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()>;
    /// Returns whether the leg is the head of the queue. If so, it stays the head until the end of the transaction.
    fn is_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<Touched>;
    /// Gives up the head of the queue.
    fn drop_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()>;
    fn set_planned(&mut self, queue: &QueueRow, task: i64, commit: &str) -> Result<()>;
    fn set_settled(&mut self, queue: &QueueRow, task: i64, settled: &str) -> Result<()>;
    /// Makes a leg that was handed back claimable now.
    fn wake(&mut self, task: i64) -> Result<Touched>;
    fn leave(&mut self, task: i64) -> Result<()>;
}

/// Key of a queue.
pub(crate) struct QueueRow {
    pub(crate) project: String,
    pub(crate) branch: String,
}

impl QueueRow {
    pub(crate) fn of(queue: &Queue) -> Self {
        Self { project: plain(&queue.project), branch: plain(&queue.branch) }
    }
}

/// Row of an entry.
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
