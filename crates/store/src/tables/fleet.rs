//! Operations on the rows of workers and parcels that a database must support.

use acquit_core::fleet::{Content, Full, Held, Parcel, SeenWorker, StoredParcel, WaitingLeg, Worker};
use acquit_core::ids::LegId;
use acquit_core::time::Timestamp;

use super::Touched;
use crate::record::{json, natural, plain, read, small, task_id};
use crate::row::read_row;
use crate::tx_error::Result;

/// Rows of workers and parcels within one transaction.
pub(crate) trait FleetTables {
    /// Writes a worker's row, unless another process has written it since `silent`.
    fn put_worker(&mut self, worker: &WorkerRow, silent: Timestamp) -> Result<Touched>;
    /// Removes a worker's row, if this process has written it.
    fn delete_worker(&mut self, name: &str, process: &str) -> Result<()>;
    fn workers(&mut self) -> Result<Vec<SeenRow>>;
    fn waiting(&mut self, limit: u32) -> Result<Vec<WaitingRow>>;
    fn waiting_of(&mut self, task: i64) -> Result<Option<WaitingRow>>;
    /// Returns ids of tasks, with their needs and their pools by stage.
    fn demands(&mut self, tasks: &[i64]) -> Result<Vec<(i64, String, String)>>;
    /// Returns the limits of those of the pools that are known.
    fn at_once(&mut self, pools: &[&str]) -> Result<Vec<(String, Option<i64>)>>;
    fn set_at_once(&mut self, pool: &str, most: Option<i64>) -> Result<()>;
    /// Blocks claims of a pool's legs until a time, or longer if an earlier call set a later time.
    fn pause(&mut self, pool: &str, until: Timestamp) -> Result<()>;
    /// Returns pools that let no leg start, with the time until which they are paused, and their limits.
    fn full_pools(&mut self, now: Timestamp) -> Result<Vec<FullRow>>;
    /// Returns the parcel's number; `None` if the leg has already left a file with this path.
    fn insert_parcel(&mut self, parcel: &ParcelRow) -> Result<Option<i64>>;
    fn insert_part(&mut self, parcel: i64, part: i64, data: &[u8]) -> Result<()>;
    /// Returns objects that belong to a repository, and to no task or to this one.
    fn objects(&mut self, repository: &str, task: i64) -> Result<Vec<StoredRow>>;
    /// Returns files that legs of a task left.
    fn files(&mut self, task: i64) -> Result<Vec<StoredRow>>;
    fn part(&mut self, parcel: i64, part: i64) -> Result<Option<Vec<u8>>>;
    /// Returns whether a parcel exists. If so, it cannot be removed before the end of the transaction.
    fn keep_parcel(&mut self, parcel: i64) -> Result<Touched>;
    fn held(&mut self) -> Result<Vec<HeldRow>>;
    /// Removes the data that the legs of a task left.
    fn delete_work(&mut self, task: i64) -> Result<()>;
    /// Returns ended tasks that have not changed since, with the size of what [`FleetTables::fold`] removes, if any.
    fn foldable(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(i64, i64)>>;
    /// Removes the transcripts of a task, and its events except changes.
    fn fold(&mut self, task: i64) -> Result<()>;
    /// Locks the data that tasks of a repository were created with, against tasks that build on it and processes
    /// that remove it.
    fn lock_base(&mut self, repository: &str) -> Result<Vec<i64>>;
    /// Returns whether legs left anything that belongs to a repository.
    fn has_work(&mut self, repository: &str) -> Result<bool>;
    /// Returns whether a task names this need: one that is not over, or that failed or was cancelled after `since`.
    fn is_needed(&mut self, need: &str, since: Timestamp) -> Result<bool>;
    /// Removes a parcel.
    fn delete_parcel(&mut self, parcel: i64) -> Result<()>;
}

/// Row of a worker.
pub(crate) struct WorkerRow {
    pub(crate) name: String,
    pub(crate) process: String,
    pub(crate) seen: i64,
    pub(crate) offers: String,
    pub(crate) body: String,
}

impl WorkerRow {
    pub(crate) fn of(worker: &Worker, now: Timestamp) -> Result<Self> {
        Ok(Self {
            name: plain(&worker.name),
            process: plain(&worker.process),
            seen: now.0,
            offers: json("offers", &worker.offers)?,
            body: json("worker", worker)?,
        })
    }
}

read_row! {
    /// A worker as stored.
    SeenRow, seen_columns {
        body: String,
        seen: i64,
    }
}

impl SeenRow {
    pub(crate) fn worker(self) -> Result<SeenWorker> {
        Ok(SeenWorker { worker: read("worker", &self.body)?, seen: Timestamp(self.seen) })
    }
}

read_row! {
    /// A waiting leg.
    WaitingRow, waiting_columns {
        task: i64,
        number: i64,
        stage: String,
        not_before: i64,
        needs: String,
        pools: String,
        cancel: bool,
    }
}

impl WaitingRow {
    pub(crate) fn waiting(self, full: &[Full]) -> Result<WaitingLeg> {
        let leg = LegId { task: task_id(self.task), number: small(self.number) };
        let needs = read(&format!("needs of leg {leg}"), &self.needs)?;
        let pools: Vec<String> = read(&format!("pools of leg {leg}"), &self.pools)?;
        let full = full.iter().find(|full| pools.contains(&full.pool)).cloned();
        let not_before = Timestamp(self.not_before);
        Ok(WaitingLeg { leg, stage: self.stage, not_before, needs, cancel: self.cancel, full })
    }
}

read_row! {
    /// A pool that lets no leg start.
    FullRow, full_columns {
        name: String,
        at_once: Option<i64>,
        paused_until: i64,
    }
}

impl FullRow {
    pub(crate) fn full(self, now: Timestamp) -> Full {
        let until = Timestamp(self.paused_until);
        let until = (until > now).then_some(until);
        let at_once = self.at_once.filter(|_| until.is_none()).map(small);
        Full { pool: self.name, until, at_once }
    }
}

/// Row of a parcel, without its number.
pub(crate) struct ParcelRow {
    pub(crate) repository: String,
    pub(crate) kind: &'static str,
    pub(crate) task: Option<i64>,
    pub(crate) leg: Option<i64>,
    pub(crate) path: Option<String>,
    pub(crate) bytes: i64,
    pub(crate) body: String,
}

impl ParcelRow {
    pub(crate) fn of(parcel: &Parcel, bytes: usize) -> Result<Self> {
        let (kind, path) = match &parcel.content {
            Content::Objects { .. } => ("objects", None),
            Content::File { path } => ("file", Some(plain(path))),
        };
        Ok(Self {
            repository: plain(&parcel.repository),
            kind,
            task: parcel.leg.map(|leg| crate::record::key(leg.task)),
            leg: parcel.leg.map(|leg| i64::from(leg.number)),
            path,
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            body: json("parcel", parcel)?,
        })
    }
}

read_row! {
    /// A parcel as stored.
    StoredRow, stored_columns {
        id: i64,
        bytes: i64,
        body: String,
    }
}

impl StoredRow {
    pub(crate) fn parcel(self) -> Result<StoredParcel> {
        let parcel = read(&format!("parcel {}", self.id), &self.body)?;
        Ok(StoredParcel { id: self.id, bytes: natural(self.bytes), parcel })
    }
}

read_row! {
    /// Parcels of a task, or of a repository.
    HeldRow, held_columns {
        repository: String,
        task: Option<i64>,
        parcels: i64,
        bytes: i64,
    }
}

impl HeldRow {
    pub(crate) fn held(self) -> Held {
        let (parcels, bytes) = (natural(self.parcels), natural(self.bytes));
        Held { repository: self.repository, task: self.task.map(task_id), parcels, bytes }
    }
}
