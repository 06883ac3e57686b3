//! Methods for workers and parcels.

use acquit_core::fleet::{
    Full, Held, Need, Parcel, Parcels, Pool, SeenWorker, StoredParcel, Under, WaitingLeg, Worker,
};
use acquit_core::ids::TaskId;
use acquit_core::leg::Hold;
use acquit_core::store::{Error, Fleet, Result, Store as _};
use acquit_core::task::{State, Task};
use acquit_core::time::Timestamp;

use super::Database;
use crate::record::{json, key, number, plain, task_id};
use crate::step;
use crate::tables::{Backend, HeldRow, ParcelRow, SeenRow, StoredRow, Tables, Touched, WorkerRow};
use crate::tx_error;

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
            let full = full_pools(tables, now)?;
            tables.waiting(limit)?.into_iter().map(|row| row.waiting(&full)).collect()
        })
    }

    fn waiting_of(&mut self, task: TaskId) -> Result<Option<WaitingLeg>> {
        let now = self.now()?;
        self.read("give the leg that waits", |tables| {
            let Some(row) = tables.waiting_of(key(task))? else { return Ok(None) };
            row.waiting(&full_pools(tables, now)?).map(Some)
        })
    }

    fn pause(&mut self, hold: Hold, pool: &Pool, until: Timestamp) -> Result<()> {
        self.write("let a pool wait", |tables, _| {
            step::must_hold(tables.lock_hold(hold)?, hold.leg)?;
            let project = super::task(tables, hold.leg.task)?.seed.project.path;
            tables.pause(&pool.key(&plain(&project)), until)
        })
    }

    fn send(&mut self, parcel: &Parcel, under: Under, data: &[u8]) -> Result<()> {
        self.write("take a parcel", |tables, _| {
            match under {
                Under::Leg(hold) => step::must_hold(tables.lock_hold(hold)?, hold.leg)?,
                Under::Base(None) => {}
                Under::Base(Some(on)) => step::must_have(tables.keep_parcel(on)?, &parcel.repository)?,
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

    fn held(&mut self) -> Result<Vec<Held>> {
        self.read("count parcels", |tables| Ok(tables.held()?.into_iter().map(HeldRow::held).collect()))
    }

    fn discard_work(&mut self, task: &Task) -> Result<bool> {
        self.write("remove parcels", |tables, _| {
            let (_, found) = tables.lock_tasks(&[key(task.id())])?.pop().ok_or(Error::NoTask(task.id()))?;
            if found != number(task.version) || !matches!(task.state, State::Ended { .. }) {
                return Ok(false);
            }
            tables.delete_work(key(task.id()))?;
            Ok(true)
        })
    }

    fn foldable(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(TaskId, u64)>> {
        self.read("list old tasks", |tables| {
            let rows = tables.foldable(before, limit)?.into_iter();
            Ok(rows.map(|(task, bytes)| (task_id(task), u64::try_from(bytes).unwrap_or_default())).collect())
        })
    }

    fn fold(&mut self, task: &Task) -> Result<bool> {
        self.write("fold a history", |tables, _| {
            let (_, found) = tables.lock_tasks(&[key(task.id())])?.pop().ok_or(Error::NoTask(task.id()))?;
            if found != number(task.version) || !matches!(task.state, State::Ended { .. }) {
                return Ok(false);
            }
            tables.fold(key(task.id()))?;
            Ok(true)
        })
    }

    fn is_needed(&mut self, repository: &str, since: Timestamp) -> Result<bool> {
        self.read("say who needs a repository", |tables| is_needed(tables, repository, since))
    }

    fn discard_repository(&mut self, repository: &str, since: Timestamp) -> Result<bool> {
        self.write("remove parcels", |tables, _| {
            // Lock first: a task that is being created holds one of these locks until it is visible.
            let base = tables.lock_base(&plain(repository))?;
            if base.is_empty()
                || tables.has_work(&plain(repository))?
                || is_needed(tables, repository, since)?
            {
                return Ok(false);
            }
            for parcel in base {
                tables.delete_parcel(parcel)?;
            }
            Ok(true)
        })
    }
}

fn full_pools(tables: &mut dyn Tables, now: Timestamp) -> tx_error::Result<Vec<Full>> {
    Ok(tables.full_pools(now)?.into_iter().map(|row| row.full(now)).collect())
}

fn is_needed(tables: &mut dyn Tables, repository: &str, since: Timestamp) -> tx_error::Result<bool> {
    // As it is written among the needs of a task.
    let need = json("need", &vec![Need::Repository(repository.to_owned())])?;
    let need = need.trim_start_matches('[').trim_end_matches(']');
    tables.is_needed(&plain(need), since)
}
