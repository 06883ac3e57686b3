//! What many machines keep in the store: workers, the legs that wait for one, and what travels between them.
//!
//! A worker's row says what it offers; [`super::Wanted::By`] claims with it, in one statement. A parcel is written whole or not at all, and under
//! the fence of the leg that left it.

use super::Result;
use crate::fleet::{Parcel, Parcels, Pool, SeenWorker, StoredParcel, WaitingLeg, Worker};
use crate::leg::Hold;
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

    /// Lets no leg of a pool be claimed until a time: one leg has found the usage limit of an account, and the others wait with it.
    fn pause(&mut self, hold: Hold, pool: &Pool, until: Timestamp) -> Result<()>;

    /// Puts a parcel into the store. A leg's file that is there already is left alone, so that repeating is harmless.
    fn send(&mut self, parcel: &Parcel, hold: Option<Hold>, data: &[u8]) -> Result<()>;

    /// Which parcels there are.
    fn parcels(&mut self, which: &Parcels) -> Result<Vec<StoredParcel>>;

    /// A part of a parcel, from 0 on; `None` after the last.
    fn receive(&mut self, parcel: i64, part: u32) -> Result<Option<Vec<u8>>>;
}
