//! Data of several machines in the store: workers, the legs that wait for one, and parcels between them.
//!
//! A worker's row lists what it offers; [`super::Wanted::By`] claims with it in one statement. A parcel is written
//! atomically, under the fence of the leg that sends it.

use super::Result;
use crate::fleet::{Held, Parcel, Parcels, Pool, SeenWorker, StoredParcel, Under, WaitingLeg, Worker};
use crate::ids::TaskId;
use crate::leg::Hold;
use crate::task::Task;
use crate::time::Timestamp;

/// The part of the store for workers.
pub trait Fleet {
    /// Records a worker's current description. Returns `false` if another worker has its name and was seen less than
    /// [`Worker::SILENCE`] ago.
    fn report_worker(&mut self, worker: &Worker) -> Result<bool>;

    /// Removes a worker that has ended. Does nothing if another worker has its name by now.
    fn remove_worker(&mut self, worker: &Worker) -> Result<()>;

    /// Returns the known workers by name.
    fn workers(&mut self) -> Result<Vec<SeenWorker>>;

    /// Returns up to `limit` waiting legs, in the order in which they are claimed.
    fn waiting(&mut self, limit: u32) -> Result<Vec<WaitingLeg>>;

    /// Returns the leg of a task, if it waits.
    fn waiting_of(&mut self, task: TaskId) -> Result<Option<WaitingLeg>>;

    /// Blocks all claims of a pool's legs until a time: one leg has reached the usage limit of an account, and the
    /// others wait with it.
    fn pause(&mut self, hold: Hold, pool: &Pool, until: Timestamp) -> Result<()>;

    /// Stores a parcel. Leaves an existing file of a leg as it is, so that repeating is harmless. Fails with
    /// [`super::Error::Removed`] if the parcel that it builds on is gone.
    fn send(&mut self, parcel: &Parcel, under: Under, data: &[u8]) -> Result<()>;

    /// Lists parcels.
    fn parcels(&mut self, which: &Parcels) -> Result<Vec<StoredParcel>>;

    /// Returns a part of a parcel, counted from 0; `None` after the last.
    fn receive(&mut self, parcel: i64, part: u32) -> Result<Option<Vec<u8>>>;

    /// Returns the stored data for other machines, by repository and task.
    fn held(&mut self) -> Result<Vec<Held>>;

    /// Removes the data of an ended task's legs. Returns `false` if the task has changed since it was read, or
    /// continues.
    fn discard_work(&mut self, task: &Task) -> Result<bool>;

    /// Returns ended tasks that have not changed since `before` and have a history to fold, oldest first, with its size.
    fn foldable(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(TaskId, u64)>>;

    /// Folds the history of an ended task: removes its transcripts, and all events but its changes, from which it can
    /// still be replayed. Returns `false` if the task has changed since it was read, or continues.
    fn fold(&mut self, task: &Task) -> Result<bool>;

    /// Returns whether a task needs a repository: an unfinished one, or one that ended after `since` in a way that
    /// allows a retry.
    fn is_needed(&mut self, repository: &str, since: Timestamp) -> Result<bool>;

    /// Removes everything that tasks of a repository were created with, in one transaction. Returns `false` if it is
    /// needed ([`Fleet::is_needed`]), or if the store has work that builds on it.
    fn discard_repository(&mut self, repository: &str, since: Timestamp) -> Result<bool>;
}
