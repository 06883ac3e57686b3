//! PostgreSQL statements for workers and parcels.

use acquit_core::time::Timestamp;
use postgres::GenericClient;

use super::Rows;
use crate::record::{FOLD_EVENTS, FOLDABLE};
use crate::tables::{
    FleetTables, FullRow, HeldRow, ParcelRow, SeenRow, StoredRow, Touched, WaitingRow, WorkerRow,
    full_columns, held_columns, seen_columns, stored_columns, waiting_columns,
};
use crate::tx_error::Result;

impl<C: GenericClient> FleetTables for Rows<'_, C> {
    fn put_worker(&mut self, worker: &WorkerRow, silent: Timestamp) -> Result<Touched> {
        self.execute(
            "insert into workers (name, process, seen, offers, body) values ($1, $2, $3, $4, $5)
             on conflict (name) do update set process = excluded.process, seen = excluded.seen,
                offers = excluded.offers, body = excluded.body
             where workers.process = excluded.process or workers.seen < $6",
            &[&worker.name, &worker.process, &worker.seen, &worker.offers, &worker.body, &silent.0],
        )
    }

    fn delete_worker(&mut self, name: &str, process: &str) -> Result<()> {
        self.execute("delete from workers where name = $1 and process = $2", &[&name, &process])?;
        Ok(())
    }

    fn workers(&mut self) -> Result<Vec<SeenRow>> {
        const ALL: &str = concat!("select ", seen_columns!(), " from workers order by name");
        self.all(ALL, &[], SeenRow::of_postgres)
    }

    fn waiting(&mut self, limit: u32) -> Result<Vec<WaitingRow>> {
        const WAITING: &str = concat!(
            "select ",
            waiting_columns!(),
            " from legs where state = 'ready' order by priority desc, turn, task, number limit $1"
        );
        self.all(WAITING, &[&i64::from(limit)], WaitingRow::of_postgres)
    }

    fn waiting_of(&mut self, task: i64) -> Result<Option<WaitingRow>> {
        const OF: &str = concat!(
            "select ",
            waiting_columns!(),
            " from legs where state in ('ready', 'running') and state = 'ready' and task = $1"
        );
        self.one(OF, &[&task], WaitingRow::of_postgres)
    }

    fn demands(&mut self, tasks: &[i64]) -> Result<Vec<(i64, String, String)>> {
        const DEMANDS: &str = "select id, needs, pools from tasks where id = any($1)";
        self.all(DEMANDS, &[&tasks], |row| (row.get(0), row.get(1), row.get(2)))
    }

    fn at_once(&mut self, pools: &[&str]) -> Result<Vec<(String, Option<i64>)>> {
        const LIMITS: &str = "select name, at_once from pools where name = any($1)";
        self.all(LIMITS, &[&pools], |row| (row.get(0), row.get(1)))
    }

    fn set_at_once(&mut self, pool: &str, most: Option<i64>) -> Result<()> {
        self.execute(
            "insert into pools (name, at_once) values ($1, $2)
             on conflict (name) do update set at_once = excluded.at_once",
            &[&pool, &most],
        )?;
        Ok(())
    }

    fn pause(&mut self, pool: &str, until: Timestamp) -> Result<()> {
        self.execute(
            "insert into pools (name, paused_until) values ($1, $2)
             on conflict (name) do update set paused_until = greatest(pools.paused_until, excluded.paused_until)",
            &[&pool, &until.0],
        )?;
        Ok(())
    }

    fn full_pools(&mut self, now: Timestamp) -> Result<Vec<FullRow>> {
        const FULL: &str =
            concat!("select ", full_columns!(), full_pools!(), " order by paused_until desc, name");
        self.all(FULL, &[&now.0], FullRow::of_postgres)
    }

    fn insert_parcel(&mut self, parcel: &ParcelRow) -> Result<Option<i64>> {
        self.one(
            "insert into parcels (repository, kind, task, leg, path, bytes, body) values ($1, $2, $3, $4, $5, $6, $7)
             on conflict do nothing returning id",
            &[
                &parcel.repository,
                &parcel.kind,
                &parcel.task,
                &parcel.leg,
                &parcel.path,
                &parcel.bytes,
                &parcel.body,
            ],
            |row| row.get(0),
        )
    }

    fn insert_part(&mut self, parcel: i64, part: i64, data: &[u8]) -> Result<()> {
        self.execute(
            "insert into parcel_parts (parcel, part, data) values ($1, $2, $3)",
            &[&parcel, &part, &data],
        )?;
        Ok(())
    }

    fn objects(&mut self, repository: &str, task: i64) -> Result<Vec<StoredRow>> {
        const OBJECTS: &str = concat!(
            "select ",
            stored_columns!(),
            " from parcels where kind = 'objects' and repository = $1 and (task is null or task = $2) order by id"
        );
        self.all(OBJECTS, &[&repository, &task], StoredRow::of_postgres)
    }

    fn files(&mut self, task: i64) -> Result<Vec<StoredRow>> {
        const FILES: &str = concat!(
            "select ",
            stored_columns!(),
            " from parcels where kind = 'file' and task = $1 order by leg, id"
        );
        self.all(FILES, &[&task], StoredRow::of_postgres)
    }

    fn part(&mut self, parcel: i64, part: i64) -> Result<Option<Vec<u8>>> {
        const PART: &str = "select data from parcel_parts where parcel = $1 and part = $2";
        self.one(PART, &[&parcel, &part], |row| row.get(0))
    }

    fn keep_parcel(&mut self, parcel: i64) -> Result<Touched> {
        const KEEP: &str = "select id from parcels where id = $1 for key share";
        let found: Option<i64> = self.one(KEEP, &[&parcel], |row| row.get(0))?;
        Ok(Touched::rows(u64::from(found.is_some())))
    }

    fn held(&mut self) -> Result<Vec<HeldRow>> {
        const HELD: &str = concat!(
            "select ",
            held_columns!(),
            " from (select repository, task, count(*) as parcels, sum(bytes)::bigint as bytes from parcels
                group by repository, task) as grouped order by repository, task"
        );
        self.all(HELD, &[], HeldRow::of_postgres)
    }

    fn delete_work(&mut self, task: i64) -> Result<()> {
        self.execute("delete from parcels where task = $1", &[&task])?;
        Ok(())
    }

    fn foldable(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(i64, i64)>> {
        self.all(FOLDABLE, &[&before.0, &i64::from(limit)], |row| (row.get(0), row.get(1)))
    }

    fn fold(&mut self, task: i64) -> Result<()> {
        self.execute("delete from transcripts where task = $1", &[&task])?;
        self.execute(FOLD_EVENTS, &[&task])?;
        Ok(())
    }

    fn lock_base(&mut self, repository: &str) -> Result<Vec<i64>> {
        // Two that lock the same rows in turns would wait for each other.
        const ALONE: &str = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
        const BASE: &str =
            "select id from parcels where kind = 'objects' and repository = $1 and task is null
             order by id for update";
        self.execute(ALONE, &[&repository])?;
        let mut locked: Vec<i64> = self.all(BASE, &[&repository], |row| row.get(0))?;
        loop {
            // While this waited for those who build on a row, they added one.
            let again: Vec<i64> = self.all(BASE, &[&repository], |row| row.get(0))?;
            if again == locked {
                return Ok(locked);
            }
            locked = again;
        }
    }

    fn has_work(&mut self, repository: &str) -> Result<bool> {
        const WORK: &str = "select exists (select 1 from parcels where repository = $1 and task is not null)";
        Ok(self.one(WORK, &[&repository], |row| row.get(0))?.unwrap_or(false))
    }

    fn is_needed(&mut self, need: &str, since: Timestamp) -> Result<bool> {
        const NEEDED: &str = "select exists (select 1 from tasks where strpos(needs, $1) > 0
             and (not ended or (state in ('failed', 'cancelled') and updated > $2)))";
        Ok(self.one(NEEDED, &[&need, &since.0], |row| row.get(0))?.unwrap_or(false))
    }

    fn delete_parcel(&mut self, parcel: i64) -> Result<()> {
        self.execute("delete from parcels where id = $1", &[&parcel])?;
        Ok(())
    }
}
