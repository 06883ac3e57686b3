//! What many machines keep in the store: workers, the legs that wait for one, and what travels between them.
//!
//! A worker's row says what it offers; [`super::Wanted::By`] claims with it, in one statement. A parcel is written whole or not at all, and under
//! the fence of the leg that left it.

use super::Result;
use crate::fleet::{Held, Parcel, Parcels, Pool, SeenWorker, StoredParcel, Under, WaitingLeg, Worker};
use crate::ids::TaskId;
use crate::leg::Hold;
use crate::task::Task;
use crate::time::Timestamp;

/// The part of the store that workers keep.
pub trait Fleet {
    /// Writes down what a worker says of itself, now. `false` if its name is another's, who was heard of less than [`Worker::SILENCE`] ago.
    fn report_worker(&mut self, worker: &Worker) -> Result<bool>;

    /// Takes a worker that has ended out of the list. Nothing happens if its name is another's by now.
    fn remove_worker(&mut self, worker: &Worker) -> Result<()>;

    /// The workers that were heard of, by name.
    fn workers(&mut self) -> Result<Vec<SeenWorker>>;

    /// Legs that wait, those that are claimed first before the others, at most so many.
    fn waiting(&mut self, limit: u32) -> Result<Vec<WaitingLeg>>;

    /// The leg of a task, if it waits.
    fn waiting_of(&mut self, task: TaskId) -> Result<Option<WaitingLeg>>;

    /// Lets no leg of a pool be claimed until a time: one leg has found the usage limit of an account, and the others wait with it.
    fn pause(&mut self, hold: Hold, pool: &Pool, until: Timestamp) -> Result<()>;

    /// Puts a parcel into the store. A leg's file that is there already is left alone, so that repeating is harmless. Fails with
    /// [`super::Error::Removed`] if the parcel that it builds on is gone.
    fn send(&mut self, parcel: &Parcel, under: Under, data: &[u8]) -> Result<()>;

    /// Which parcels there are.
    fn parcels(&mut self, which: &Parcels) -> Result<Vec<StoredParcel>>;

    /// A part of a parcel, from 0 on; `None` after the last.
    fn receive(&mut self, parcel: i64, part: u32) -> Result<Option<Vec<u8>>>;

    /// What the store has for other machines, by repository and task.
    fn held(&mut self) -> Result<Vec<Held>>;

    /// Removes what the legs of an ended task left. `false` if the task has changed since it was read, or goes on.
    fn discard_work(&mut self, task: &Task) -> Result<bool>;

    /// Whether a task needs a repository: one that is not over, or that ended after `since` in a way that it may be tried again.
    fn is_needed(&mut self, repository: &str, since: Timestamp) -> Result<bool>;

    /// Removes everything that tasks of a repository were made with, at once. `false` if it is needed ([`Fleet::is_needed`]), or if the
    /// store has work that builds on it.
    fn discard_repository(&mut self, repository: &str, since: Timestamp) -> Result<bool>;
}
