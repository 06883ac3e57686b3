//! Methods for workers and parcels.

use acquit_core::fleet::{Full, Parcel, Parcels, Pool, SeenWorker, StoredParcel, WaitingLeg, Worker};
use acquit_core::leg::Hold;
use acquit_core::store::{Fleet, Result, Store as _};
use acquit_core::time::Timestamp;

use super::Database;
use crate::record::{key, plain};
use crate::step;
use crate::tables::{Backend, ParcelRow, SeenRow, StoredRow, Touched, WorkerRow};

/// Size of a part: small enough to keep in memory, large enough that a repository has only a few hundred of them.
const PART: usize = 1 << 20;

impl<B: Backend> Fleet for Database<B> {
    fn report_worker(&mut self, worker: &Worker) -> Result<bool> {
        self.write("take the report of a worker", |tables, now| {
            let silence = i64::try_from(Worker::SILENCE.as_millis()).unwrap_or(i64::MAX);
            let silent = acquit_core::time::Timestamp(now.0.saturating_sub(silence));
            Ok(tables.put_worker(&WorkerRow::of(worker, now)?, silent)? == Touched::Row)
        })
    }

    fn remove_worker(&mut self, worker: &Worker) -> Result<()> {
        self.write("remove a worker", |tables, _| {
            tables.delete_worker(&plain(&worker.name), &plain(&worker.process))
        })
    }

    fn workers(&mut self) -> Result<Vec<SeenWorker>> {
        self.read("list workers", |tables| tables.workers()?.into_iter().map(SeenRow::worker).collect())
    }

    fn waiting(&mut self, limit: u32) -> Result<Vec<WaitingLeg>> {
        let now = self.now()?;
        self.read("give the legs that wait", |tables| {
            let full: Vec<Full> = tables.full_pools(now)?.into_iter().map(|row| row.full(now)).collect();
            tables.waiting(limit)?.into_iter().map(|row| row.waiting(&full)).collect()
        })
    }

    fn pause(&mut self, hold: Hold, pool: &Pool, until: Timestamp) -> Result<()> {
        self.write("let a pool wait", |tables, _| {
            step::must_hold(tables.lock_hold(hold)?, hold.leg)?;
            let project = super::task(tables, hold.leg.task)?.seed.project.path;
            tables.pause(&pool.key(&plain(&project)), until)
        })
    }

    fn send(&mut self, parcel: &Parcel, hold: Option<Hold>, data: &[u8]) -> Result<()> {
        self.write("take a parcel", |tables, _| {
            if let Some(hold) = hold {
                step::must_hold(tables.lock_hold(hold)?, hold.leg)?;
            }
            let Some(id) = tables.insert_parcel(&ParcelRow::of(parcel, data.len())?)? else {
                return Ok(());
            };
            for (number, part) in (0..).zip(data.chunks(PART)) {
                tables.insert_part(id, number, part)?;
            }
            Ok(())
        })
    }

    fn parcels(&mut self, which: &Parcels) -> Result<Vec<StoredParcel>> {
        self.read("list parcels", |tables| {
            let rows = match which {
                Parcels::Objects(repository, task) => tables.objects(&plain(repository), key(*task))?,
                Parcels::Files(task) => tables.files(key(*task))?,
            };
            rows.into_iter().map(StoredRow::parcel).collect()
        })
    }

    fn receive(&mut self, parcel: i64, part: u32) -> Result<Option<Vec<u8>>> {
        self.read("give a parcel", |tables| tables.part(parcel, i64::from(part)))
    }
}
