//! SQLite statements. SQLite serializes writers, so data that a transaction has read stays valid until it commits:
//! nothing here needs an explicit lock.

/// Pools that let no leg start at the time `?1`: those at a usage limit, and those with the maximum number of
/// running legs.
macro_rules! full_pools {
    () => {
        " from pools where paused_until > ?1 or at_once <=
            (select count(*) from legs as r, json_each(r.pools) as one
             where r.state = 'running' and one.value = pools.name)"
    };
}

/// Begins a query of legs that may start.
macro_rules! open_legs {
    () => {
        concat!(
            "with closed as materialized (select name",
            full_pools!(),
            ") select task, number from legs where state = 'ready' and not_before <= ?1
                and (cancel = 1 or not exists
                    (select 1 from json_each(legs.pools) as one where one.value in (select name from closed)))"
        )
    };
}

mod fleet;
mod ledger;

use std::sync::LazyLock;

use acquit_core::leg::Hold;
use acquit_core::store::{Filter, Wanted};
use acquit_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Row, params, params_from_iter};

use crate::record::{
    ChunkRow, DefinitionRow, EventRow, LegRow, NewEvent, RELEASED, SummaryRow, TaskRow, WholeRow,
    chunk_columns, event_columns, key, leg_columns, list_query, whole_columns,
};
use crate::row::{insert, update};
use crate::tables::{Blocked, Expected, LegEnd, NewLeg, Place, Tables, Terms, Touched};
use crate::tx_error::Result;

/// Selects the next leg. Shared with a test: its cost must not grow with the number of past legs.
pub(super) const CLAIM_ANY: &str =
    concat!(open_legs!(), " order by priority desc, turn, task, number limit 1");

/// The rows within a connection.
pub(super) struct Rows<'a>(pub(super) &'a Connection);

impl Rows<'_> {
    pub(super) fn execute(&self, sql: &'static str, params: impl Params) -> Result<Touched> {
        let count = self.0.prepare_cached(sql)?.execute(params)?;
        Ok(Touched::rows(u64::try_from(count).unwrap_or(u64::MAX)))
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.0.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.0.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the rows found for each of these keys, in order.
    pub(super) fn each<K, T>(
        &self,
        keys: &[K],
        find: impl Fn(&Self, &K) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        keys.iter().filter_map(|key| find(self, key).transpose()).collect()
    }

    /// Returns the next number of a counter.
    fn count(&self, name: &str) -> Result<i64> {
        const NEXT: &str = "update counters set value = value + 1 where name = ?1 returning value";
        Ok(self.0.prepare_cached(NEXT)?.query_row([name], |row| row.get(0))?)
    }
}

impl Tables for Rows<'_> {
    fn store_id(&mut self) -> Result<String> {
        Ok(self.one("select id from meta", [], |row| row.get(0))?.unwrap_or_default())
    }

    fn version(&mut self) -> Result<i64> {
        Ok(self.one("select version from meta", [], |row| row.get(0))?.unwrap_or_default())
    }

    fn reserve(&mut self) -> Result<i64> {
        self.count("task")
    }

    fn insert_task(&mut self, task: &TaskRow, definition: &DefinitionRow) -> Result<()> {
        static INSERT: LazyLock<String> =
            LazyLock::new(|| insert("tasks", TaskRow::COLUMNS, DefinitionRow::COLUMNS, '?'));
        let mut values = task.sqlite();
        values.push(&definition.definition);
        values.push(&definition.sandbox);
        values.push(&definition.needs);
        values.push(&definition.pools);
        self.execute(&INSERT, values.as_slice())?;
        Ok(())
    }

    fn lock_tasks(&mut self, tasks: &[i64]) -> Result<Vec<(i64, i64)>> {
        const VERSION: &str = "select id, version from tasks where id = ?1";
        self.each(tasks, |rows, task| rows.one(VERSION, [task], |row| Ok((row.get(0)?, row.get(1)?))))
    }

    fn update_tasks(&mut self, tasks: &[TaskRow]) -> Result<()> {
        static UPDATE: LazyLock<String> = LazyLock::new(|| update("tasks", TaskRow::CHANGING));
        for task in tasks {
            self.execute(&UPDATE, task.sqlite_changing().as_slice())?;
        }
        Ok(())
    }

    fn task(&mut self, task: i64) -> Result<Option<String>> {
        self.one("select body from tasks where id = ?1", [task], |row| row.get(0))
    }

    fn definition(&mut self, task: i64) -> Result<Option<String>> {
        self.one("select definition from tasks where id = ?1", [task], |row| row.get(0))
    }

    fn tasks(&mut self, tasks: &[i64]) -> Result<Vec<WholeRow>> {
        const WHOLE: &str = concat!("select ", whole_columns!(), " from tasks where id = ?1");
        self.each(tasks, |rows, task| rows.one(WHOLE, [task], WholeRow::of_sqlite))
    }

    fn set_definition(&mut self, task: i64, definition: &DefinitionRow) -> Result<()> {
        self.execute(
            "update tasks set definition = ?2, sandbox = ?3, needs = ?4, pools = ?5 where id = ?1",
            (task, &definition.definition, definition.sandbox, &definition.needs, &definition.pools),
        )?;
        Ok(())
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<SummaryRow>> {
        let (query, values) = list_query(filter, '?');
        self.all(&query, params_from_iter(values), SummaryRow::of_sqlite)
    }

    fn set_roots(&mut self, task: i64, project: &str, fingerprints: &[&str]) -> Result<()> {
        self.execute("delete from roots where task = ?1", [task])?;
        for fingerprint in fingerprints {
            self.execute(
                "insert into roots (project_path, fingerprint, task) values (?1, ?2, ?3) on conflict do nothing",
                params![project, fingerprint, task],
            )?;
        }
        Ok(())
    }

    fn root(&mut self, project: &str, fingerprint: &str) -> Result<Option<i64>> {
        const ROOT: &str = "select task from roots where project_path = ?1 and fingerprint = ?2";
        self.one(ROOT, params![project, fingerprint], |row| row.get(0))
    }

    fn set_blocked(&mut self, task: i64, on: Option<&Blocked<'_>>) -> Result<()> {
        self.execute("delete from blocked where task = ?1", [task])?;
        if let Some(on) = on {
            self.execute(
                "insert into blocked (task, root, project_path, fingerprint) values (?1, ?2, ?3, ?4)",
                params![task, on.root, on.project, on.fingerprint],
            )?;
        }
        Ok(())
    }

    fn released(&mut self) -> Result<Vec<i64>> {
        self.all(RELEASED, [], |row| row.get(0))
    }

    fn insert_legs(&mut self, legs: &[NewLeg<'_>], now: Timestamp) -> Result<()> {
        for leg in legs {
            let turn = self.one(
                "insert into turns (project_path, priority, turn) select ?1, ?2, coalesce(
                    (select min(turn) from legs where state = 'ready' and priority = ?2 and not_before <= ?3),
                    (select max(turn) from turns where priority = ?2), 0) where true
                 on conflict (project_path, priority) do update set turn = max(turns.turn + 1, excluded.turn)
                 returning turn",
                params![leg.project, leg.priority, now.0],
                |row| row.get::<_, i64>(0),
            )?;
            self.execute(
                "insert into legs (task, number, stage, state, entry, not_before, priority, needs, pools, turn)
                 values (?1, ?2, ?3, 'ready', ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    leg.place.task,
                    leg.place.number,
                    leg.stage,
                    leg.entry,
                    leg.not_before.0,
                    leg.priority,
                    leg.needs,
                    leg.pools,
                    turn
                ],
            )?;
        }
        Ok(())
    }

    fn lock_legs(&mut self, legs: &[Expected]) -> Result<Vec<Expected>> {
        const AS_EXPECTED: &str = "select 1 from legs where task = ?1 and number = ?2
             and (state = 'running' and fence = ?3 or state = 'ready' and ?3 is null)";
        self.each(legs, |rows, leg| {
            let key = params![leg.task, leg.number, leg.fence];
            let found = rows.one(AS_EXPECTED, key, |row| row.get::<_, i64>(0))?;
            Ok(found.map(|_| *leg))
        })
    }

    fn end_legs(&mut self, legs: &[LegEnd]) -> Result<()> {
        const END: &str = "update legs set state = ?3, ended = ?4, usage = ?5, lease_until = null
             where task = ?1 and number = ?2";
        for leg in legs {
            self.execute(END, params![leg.place.task, leg.place.number, leg.state, leg.at.0, leg.usage])?;
        }
        Ok(())
    }

    fn ask_cancel(&mut self, task: i64) -> Result<()> {
        self.execute(
            "update legs set cancel = 1, not_before = 0 where task = ?1 and state in ('ready', 'running')",
            [task],
        )?;
        Ok(())
    }

    fn set_priority(&mut self, task: i64, priority: i64) -> Result<()> {
        self.execute("update tasks set priority = ?2 where id = ?1", [task, priority])?;
        self.execute(
            "update legs set priority = ?2, turn = coalesce(
                 (select min(turn) from legs where state = 'ready' and priority = ?2), turn)
             where task = ?1 and state = 'ready'",
            [task, priority],
        )?;
        Ok(())
    }

    fn lock_hold(&mut self, hold: Hold) -> Result<Touched> {
        let leg = Place::from(hold.leg);
        let found = self.one(
            "select 1 from legs where task = ?1 and number = ?2 and fence = ?3 and state = 'running'",
            [leg.task, leg.number, hold.fence.0],
            |row| row.get::<_, i64>(0),
        )?;
        Ok(if found.is_some() { Touched::Row } else { Touched::Nothing })
    }

    fn claim(&mut self, wanted: Wanted<'_>, terms: &Terms<'_>) -> Result<Option<LegRow>> {
        const OF: &str = "select task, number from legs
             where state in ('ready', 'running') and state = 'ready' and not_before <= ?1 and task = ?2";
        const DUE: &str = concat!(open_legs!(), " and state in ('ready', 'running') and task = ?2");
        const BY: &str = concat!(
            open_legs!(),
            " and (?3 is null or task = ?3)
                and exists (select 1 from json_each(needs) where value like 'repository:%')
                and not exists (select 1 from json_each(needs) where value not in
                    (select value from json_each((select offers from workers where name = ?2))))
                and exists (select 1 from workers where name = ?2)
             order by priority desc, turn, task, number limit 1"
        );
        let place = |row: &Row<'_>| Ok(Place { task: row.get(0)?, number: row.get(1)? });
        let found = match wanted {
            Wanted::Any => self.one(CLAIM_ANY, [terms.now.0], place)?,
            Wanted::Of(task) => self.one(OF, [terms.now.0, key(task)], place)?,
            Wanted::Due(task) => self.one(DUE, [terms.now.0, key(task)], place)?,
            Wanted::By(worker, task) => self.one(BY, params![terms.now.0, worker, task.map(key)], place)?,
        };
        let Some(leg) = found else { return Ok(None) };
        let fence = self.count("fence")?;
        self.one(
            concat!(
                "update legs set state = 'running', fence = ?3, owner = ?4, lease_until = ?5,
                    started = coalesce(started, ?6)
                 where task = ?1 and number = ?2 returning ",
                leg_columns!()
            ),
            params![leg.task, leg.number, fence, terms.owner, terms.lease_until.0, terms.now.0],
            LegRow::of_sqlite,
        )
    }

    fn pulse(&mut self, hold: Hold) -> Result<Option<bool>> {
        let leg = Place::from(hold.leg);
        self.one(
            "select cancel from legs where task = ?1 and number = ?2 and fence = ?3 and state = 'running'",
            [leg.task, leg.number, hold.fence.0],
            |row| row.get(0),
        )
    }

    fn renew(&mut self, hold: Hold, until: Timestamp) -> Result<Option<bool>> {
        let leg = Place::from(hold.leg);
        self.one(
            "update legs set lease_until = ?4, renewals = renewals + 1
             where task = ?1 and number = ?2 and fence = ?3 and state = 'running' returning cancel",
            [leg.task, leg.number, hold.fence.0, until.0],
            |row| row.get(0),
        )
    }

    fn renewals(&mut self) -> Result<i64> {
        Ok(self.one("select coalesce(sum(renewals), 0) from legs", [], |row| row.get(0))?.unwrap_or_default())
    }

    fn set_usage(&mut self, hold: Hold, usage: &str) -> Result<Touched> {
        let leg = Place::from(hold.leg);
        self.execute(
            "update legs set usage = ?4 where task = ?1 and number = ?2 and fence = ?3 and state = 'running'",
            params![leg.task, leg.number, hold.fence.0, usage],
        )
    }

    fn legs(&mut self, task: i64) -> Result<Vec<LegRow>> {
        self.all(
            concat!("select ", leg_columns!(), " from legs where task = ?1 order by number"),
            [task],
            LegRow::of_sqlite,
        )
    }

    fn running(&mut self) -> Result<Vec<LegRow>> {
        self.all(
            concat!("select ", leg_columns!(), " from legs where state = 'running' order by task, number"),
            [],
            LegRow::of_sqlite,
        )
    }

    fn append(&mut self, events: &[NewEvent]) -> Result<()> {
        for event in events {
            self.execute(
                "insert into events (task, leg, at, category, kind, level, actor, summary, data)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    event.task,
                    event.leg,
                    event.at,
                    event.category,
                    event.kind,
                    event.level,
                    event.actor,
                    event.summary,
                    event.data
                ],
            )?;
        }
        Ok(())
    }

    fn events(&mut self, task: Option<i64>, after: i64, limit: u32) -> Result<Vec<EventRow>> {
        match task {
            Some(task) => self.all(
                concat!(
                    "select ",
                    event_columns!(),
                    " from events where task = ?3 and seq > ?1 order by seq limit ?2"
                ),
                [after, i64::from(limit), task],
                EventRow::of_sqlite,
            ),
            None => self.all(
                concat!("select ", event_columns!(), " from events where seq > ?1 order by seq limit ?2"),
                [after, i64::from(limit)],
                EventRow::of_sqlite,
            ),
        }
    }

    /// Does nothing: waiting readers poll the file.
    fn announce(&mut self, _task: i64) -> Result<()> {
        Ok(())
    }

    fn insert_chunk(&mut self, leg: Place, chunk: &ChunkRow) -> Result<Touched> {
        self.execute(
            "insert into transcripts (task, leg, from_byte, to_byte, lines, items, omitted)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (task, leg, from_byte) do nothing",
            params![
                leg.task,
                leg.number,
                chunk.from_byte,
                chunk.to_byte,
                chunk.lines,
                chunk.items,
                chunk.omitted
            ],
        )
    }

    fn chunks(&mut self, leg: Place, from: i64, limit: u32) -> Result<Vec<ChunkRow>> {
        self.all(
            concat!(
                "select ",
                chunk_columns!(),
                " from transcripts
             where task = ?1 and leg = ?2 and to_byte > ?3 and from_byte >= coalesce(
                (select max(from_byte) from transcripts where task = ?1 and leg = ?2 and from_byte <= ?3), 0)
             order by from_byte limit ?4"
            ),
            [leg.task, leg.number, from, i64::from(limit)],
            ChunkRow::of_sqlite,
        )
    }
}
