//! PostgreSQL statements. Others write at the same time, so a transaction locks the rows that it relies on: the task's
//! row, then the leg's row, then the events.

/// Pools that let no leg start at the time `$1`: those at a usage limit, and those with the maximum number of running
/// legs.
macro_rules! full_pools {
    () => {
        " from pools where paused_until > $1 or at_once <=
            (select count(*) from legs as r where r.state = 'running' and r.pools::jsonb ? pools.name)"
    };
}

mod fleet;
mod ledger;

use std::collections::HashMap;
use std::sync::LazyLock;

use acquit_core::leg::Hold;
use acquit_core::store::{Filter, Wanted};
use acquit_core::time::Timestamp;
use postgres::types::ToSql;
use postgres::{GenericClient, Row, Statement};

use super::CHANNEL;
use crate::record::{
    ChunkRow, DefinitionRow, EventRow, LegRow, NewEvent, RELEASED, SummaryRow, TaskRow, WholeRow,
    chunk_columns, event_columns, key, leg_columns, list_query, whole_columns,
};
use crate::row::{insert, update_all};
use crate::tables::{Blocked, Expected, LegEnd, NewLeg, Place, Tables, Terms, Touched};
use crate::tx_error::Result;

/// Advisory lock that a writer of events holds until its commit. The number is arbitrary, but always the same.
const EVENTS_LOCK: i64 = 0x6163_7175_6974_0002;

/// Advisory lock that a claimer holds until its commit, if a pool has a limit.
const CLAIMS_LOCK: i64 = 0x6163_7175_6974_0003;

/// Parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Collects the values of a column as an array.
fn column<'a, R, T: 'a>(rows: &'a [R], pick: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(pick).collect()
}

/// The rows within a connection or a transaction.
pub(super) struct Rows<'a, C> {
    pub(super) client: &'a mut C,
    pub(super) statements: &'a mut HashMap<&'static str, Statement>,
}

impl<C: GenericClient> Rows<'_, C> {
    fn prepared(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    pub(super) fn execute(&mut self, sql: &'static str, params: Params<'_>) -> Result<Touched> {
        let statement = self.prepared(sql)?;
        Ok(Touched::rows(self.client.execute(&statement, params)?))
    }

    pub(super) fn one<T>(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
        read: fn(&Row) -> T,
    ) -> Result<Option<T>> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query_opt(&statement, params)?.as_ref().map(read))
    }

    pub(super) fn all<T>(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
        read: fn(&Row) -> T,
    ) -> Result<Vec<T>> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query(&statement, params)?.iter().map(read).collect())
    }
}

impl<C: GenericClient> Tables for Rows<'_, C> {
    fn store_id(&mut self) -> Result<String> {
        Ok(self.one("select id from meta", &[], |row| row.get(0))?.unwrap_or_default())
    }

    fn version(&mut self) -> Result<i64> {
        Ok(self.one("select version from meta", &[], |row| row.get(0))?.unwrap_or_default())
    }

    fn reserve(&mut self) -> Result<i64> {
        let statement = self.prepared("select nextval('task_ids')")?;
        Ok(self.client.query_one(&statement, &[])?.get(0))
    }

    fn insert_task(&mut self, task: &TaskRow, definition: &DefinitionRow) -> Result<()> {
        static INSERT: LazyLock<String> =
            LazyLock::new(|| insert("tasks", TaskRow::COLUMNS, DefinitionRow::COLUMNS, '$'));
        let mut values = task.postgres();
        values.push(&definition.definition);
        values.push(&definition.sandbox);
        values.push(&definition.needs);
        values.push(&definition.pools);
        self.execute(&INSERT, &values)?;
        Ok(())
    }

    /// Uses `for no key update`, so that holders of its leg who wait for us can still insert rows that refer to the
    /// task.
    fn lock_tasks(&mut self, tasks: &[i64]) -> Result<Vec<(i64, i64)>> {
        const LOCK: &str = "select id, version from tasks where id = any($1) order by id for no key update";
        self.all(LOCK, &[&tasks], |row| (row.get(0), row.get(1)))
    }

    fn update_tasks(&mut self, tasks: &[TaskRow]) -> Result<()> {
        static UPDATE: LazyLock<String> =
            LazyLock::new(|| update_all("tasks", TaskRow::CHANGING, TaskRow::TYPES));
        let columns = TaskRow::postgres_changing(tasks);
        let columns: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| &**column as _).collect();
        self.execute(&UPDATE, &columns)?;
        Ok(())
    }

    fn task(&mut self, task: i64) -> Result<Option<String>> {
        self.one("select body from tasks where id = $1", &[&task], |row| row.get(0))
    }

    fn definition(&mut self, task: i64) -> Result<Option<String>> {
        self.one("select definition from tasks where id = $1", &[&task], |row| row.get(0))
    }

    fn tasks(&mut self, tasks: &[i64]) -> Result<Vec<WholeRow>> {
        const WHOLE: &str =
            concat!("select ", whole_columns!(), " from tasks where id = any($1) order by id");
        self.all(WHOLE, &[&tasks], WholeRow::of_postgres)
    }

    fn set_definition(&mut self, task: i64, definition: &DefinitionRow) -> Result<()> {
        self.execute(
            "update tasks set definition = $2, sandbox = $3, needs = $4, pools = $5 where id = $1",
            &[&task, &definition.definition, &definition.sandbox, &definition.needs, &definition.pools],
        )?;
        Ok(())
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<SummaryRow>> {
        let (query, values) = list_query(filter, '$');
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(query.as_str(), &values)?;
        Ok(rows.iter().map(SummaryRow::of_postgres).collect())
    }

    fn set_roots(&mut self, task: i64, project: &str, fingerprints: &[&str]) -> Result<()> {
        self.execute("delete from roots where task = $1", &[&task])?;
        for fingerprint in fingerprints {
            self.execute(
                "insert into roots (project_path, fingerprint, task) values ($1, $2, $3) on conflict do nothing",
                &[&project, fingerprint, &task],
            )?;
        }
        Ok(())
    }

    fn root(&mut self, project: &str, fingerprint: &str) -> Result<Option<i64>> {
        const ROOT: &str = "select task from roots where project_path = $1 and fingerprint = $2";
        self.one(ROOT, &[&project, &fingerprint], |row| row.get(0))
    }

    fn set_blocked(&mut self, task: i64, on: Option<&Blocked<'_>>) -> Result<()> {
        self.execute("delete from blocked where task = $1", &[&task])?;
        if let Some(on) = on {
            self.execute(
                "insert into blocked (task, root, project_path, fingerprint) values ($1, $2, $3, $4)",
                &[&task, &on.root, &on.project, &on.fingerprint],
            )?;
        }
        Ok(())
    }

    fn released(&mut self) -> Result<Vec<i64>> {
        self.all(RELEASED, &[], |row| row.get(0))
    }

    /// The turns of a project follow each other, so a leg's turn is the project's last turn plus the leg's position
    /// among the new legs.
    fn insert_legs(&mut self, legs: &[NewLeg<'_>], now: Timestamp) -> Result<()> {
        self.execute(
            "with new as materialized (select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
                $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[]) with ordinality
                as new (task, number, stage, entry, not_before, priority, needs, pools, project, place)),
             wanted as materialized (select project, priority, count(*) as many from new group by project, priority),
             last as (insert into turns (project_path, priority, turn) select project, priority, many - 1 + coalesce(
                    (select min(turn) from legs
                        where state = 'ready' and legs.priority = wanted.priority and not_before <= $10),
                    (select max(turn) from turns where turns.priority = wanted.priority), 0)
                from wanted order by project, priority
                on conflict (project_path, priority) do update set turn = greatest(excluded.turn, turns.turn + (
                    select many from wanted where project = excluded.project_path and priority = excluded.priority))
                returning project_path, priority, turn)
             insert into legs (task, number, stage, state, entry, not_before, priority, needs, pools, turn)
             select task, number, stage, 'ready', entry, not_before, new.priority, needs, pools,
                turn - many + row_number() over (partition by project, new.priority order by place)
             from new join wanted using (project, priority)
                join last on last.project_path = project and last.priority = new.priority",
            &[
                &column(legs, |leg| leg.place.task),
                &column(legs, |leg| leg.place.number),
                &column(legs, |leg| leg.stage),
                &column(legs, |leg| leg.entry.as_str()),
                &column(legs, |leg| leg.not_before.0),
                &column(legs, |leg| leg.priority),
                &column(legs, |leg| leg.needs.as_str()),
                &column(legs, |leg| leg.pools.as_str()),
                &column(legs, |leg| leg.project.as_str()),
                &now.0,
            ],
        )?;
        Ok(())
    }

    fn lock_legs(&mut self, legs: &[Expected]) -> Result<Vec<Expected>> {
        self.all(
            "select wanted.task, wanted.number, wanted.fence
             from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as wanted (task, number, fence)
             join legs on legs.task = wanted.task and legs.number = wanted.number
                and (legs.state = 'running' and legs.fence = wanted.fence
                    or legs.state = 'ready' and wanted.fence is null)
             order by wanted.task for no key update of legs",
            &[&column(legs, |leg| leg.task), &column(legs, |leg| leg.number), &column(legs, |leg| leg.fence)],
            |row| Expected { task: row.get(0), number: row.get(1), fence: row.get(2) },
        )
    }

    fn end_legs(&mut self, legs: &[LegEnd]) -> Result<()> {
        self.execute(
            "update legs set state = new.state, ended = new.ended, usage = new.usage, lease_until = null
             from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])
                as new (task, number, state, ended, usage)
             where legs.task = new.task and legs.number = new.number",
            &[
                &column(legs, |leg| leg.place.task),
                &column(legs, |leg| leg.place.number),
                &column(legs, |leg| leg.state),
                &column(legs, |leg| leg.at.0),
                &column(legs, |leg| leg.usage.as_str()),
            ],
        )?;
        Ok(())
    }

    fn ask_cancel(&mut self, task: i64) -> Result<()> {
        self.execute(
            "update legs set cancel = true, not_before = 0 where task = $1 and state in ('ready', 'running')",
            &[&task],
        )?;
        Ok(())
    }

    fn set_priority(&mut self, task: i64, priority: i64) -> Result<()> {
        self.execute("update tasks set priority = $2 where id = $1", &[&task, &priority])?;
        self.execute(
            "update legs set priority = $2, turn = coalesce(
                 (select min(turn) from legs where state = 'ready' and priority = $2), turn)
             where task = $1 and state = 'ready'",
            &[&task, &priority],
        )?;
        Ok(())
    }

    fn lock_hold(&mut self, hold: Hold) -> Result<Touched> {
        let leg = Place::from(hold.leg);
        self.execute(
            "select 1 from legs where task = $1 and number = $2 and fence = $3 and state = 'running'
             for no key update",
            &[&leg.task, &leg.number, &hold.fence.0],
        )
    }

    /// Claimers of any leg skip legs that others are claiming. The claimer of one task's leg waits for the other
    /// transaction. Where pools have limits, claimers take turns, or two of them would count the same running legs.
    fn claim(&mut self, wanted: Wanted<'_>, terms: &Terms<'_>) -> Result<Option<LegRow>> {
        macro_rules! claim {
            ($which:literal) => {
                concat!(
                    "with closed as materialized (select name",
                    full_pools!(),
                    "), next as materialized (select task as t, number as n from legs
                        where state = 'ready' and not_before <= $1 ",
                    $which,
                    ") update legs set state = 'running', fence = nextval('fences'), owner = $2, lease_until = $3,
                        started = coalesce(started, $1)
                     from next where task = t and number = n returning ",
                    leg_columns!()
                )
            };
        }
        const ANY: &str = claim!(
            "and (cancel or not exists (select 1 from closed where legs.pools::jsonb ? name))
             order by priority desc, turn, task, number limit 1 for update skip locked"
        );
        const OF: &str = claim!("and task = $4 for update");
        const DUE: &str = claim!(
            "and task = $4 and (cancel or not exists (select 1 from closed where legs.pools::jsonb ? name)) for update"
        );
        // A leg whose repository is not in the store can only run on the machine that has it.
        const BY: &str = claim!(
            "and ($5::bigint is null or task = $5) and needs like '%\"repository:%'
             and needs::jsonb <@ (select offers::jsonb from workers where name = $4)
             and (cancel or not exists (select 1 from closed where legs.pools::jsonb ? name))
             order by priority desc, turn, task, number limit 1 for update skip locked"
        );
        const LOCK: &str = "select pg_advisory_xact_lock($1) from pools where at_once is not null limit 1";
        if !matches!(wanted, Wanted::Of(_)) {
            self.execute(LOCK, &[&CLAIMS_LOCK])?;
        }
        let (now, until) = (terms.now.0, terms.lease_until.0);
        match wanted {
            Wanted::Any => self.one(ANY, &[&now, &terms.owner, &until], LegRow::of_postgres),
            Wanted::Of(task) => self.one(OF, &[&now, &terms.owner, &until, &key(task)], LegRow::of_postgres),
            Wanted::Due(task) => {
                self.one(DUE, &[&now, &terms.owner, &until, &key(task)], LegRow::of_postgres)
            }
            Wanted::By(worker, task) => {
                let task = task.map(key);
                self.one(BY, &[&now, &terms.owner, &until, &worker, &task], LegRow::of_postgres)
            }
        }
    }

    fn pulse(&mut self, hold: Hold) -> Result<Option<bool>> {
        let leg = Place::from(hold.leg);
        self.one(
            "select cancel from legs where task = $1 and number = $2 and fence = $3 and state = 'running'",
            &[&leg.task, &leg.number, &hold.fence.0],
            |row| row.get(0),
        )
    }

    fn renew(&mut self, hold: Hold, until: Timestamp) -> Result<Option<bool>> {
        let leg = Place::from(hold.leg);
        self.one(
            "update legs set lease_until = $4, renewals = renewals + 1
             where task = $1 and number = $2 and fence = $3 and state = 'running' returning cancel",
            &[&leg.task, &leg.number, &hold.fence.0, &until.0],
            |row| row.get(0),
        )
    }

    fn renewals(&mut self) -> Result<i64> {
        let sum = "select coalesce(sum(renewals), 0)::bigint from legs";
        Ok(self.one(sum, &[], |row| row.get(0))?.unwrap_or_default())
    }

    fn set_usage(&mut self, hold: Hold, usage: &str) -> Result<Touched> {
        let leg = Place::from(hold.leg);
        self.execute(
            "update legs set usage = $4 where task = $1 and number = $2 and fence = $3 and state = 'running'",
            &[&leg.task, &leg.number, &hold.fence.0, &usage],
        )
    }

    fn legs(&mut self, task: i64) -> Result<Vec<LegRow>> {
        const LEGS: &str = concat!("select ", leg_columns!(), " from legs where task = $1 order by number");
        self.all(LEGS, &[&task], LegRow::of_postgres)
    }

    fn running(&mut self) -> Result<Vec<LegRow>> {
        const RUNNING: &str =
            concat!("select ", leg_columns!(), " from legs where state = 'running' order by task, number");
        self.all(RUNNING, &[], LegRow::of_postgres)
    }

    /// Appends in one statement with the lock, so that the lock is only held for that statement and the commit.
    fn append(&mut self, events: &[NewEvent]) -> Result<()> {
        self.execute(
            "with told as materialized (select count(pg_notify($1, task::text))
                    from (select distinct task from unnest($2::bigint[]) as one (task)) as tasks),
                turn as materialized (select pg_advisory_xact_lock($3))
             insert into events (task, leg, at, category, kind, level, actor, summary, data)
             select task, leg, at, category, kind, level, actor, summary, data
             from told, turn, unnest($2::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::text[], $11::text[])
                with ordinality as new (task, leg, at, category, kind, level, actor, summary, data, place)
             order by place",
            &[
                &CHANNEL,
                &column(events, |event| event.task),
                &EVENTS_LOCK,
                &column(events, |event| event.leg),
                &column(events, |event| event.at),
                &column(events, |event| event.category),
                &column(events, |event| event.kind),
                &column(events, |event| event.level),
                &column(events, |event| event.actor.as_str()),
                &column(events, |event| event.summary.as_str()),
                &column(events, |event| event.data.as_str()),
            ],
        )?;
        Ok(())
    }

    fn events(&mut self, task: Option<i64>, after: i64, limit: u32) -> Result<Vec<EventRow>> {
        let limit = i64::from(limit);
        match task {
            Some(task) => self.all(
                concat!(
                    "select ",
                    event_columns!(),
                    " from events where task = $3 and seq > $1 order by seq limit $2"
                ),
                &[&after, &limit, &task],
                EventRow::of_postgres,
            ),
            None => self.all(
                concat!("select ", event_columns!(), " from events where seq > $1 order by seq limit $2"),
                &[&after, &limit],
                EventRow::of_postgres,
            ),
        }
    }

    fn announce(&mut self, task: i64) -> Result<()> {
        self.execute("select pg_notify($1, $2::bigint::text)", &[&CHANNEL, &task])?;
        Ok(())
    }

    fn insert_chunk(&mut self, leg: Place, chunk: &ChunkRow) -> Result<Touched> {
        self.execute(
            "insert into transcripts (task, leg, from_byte, to_byte, lines, items, omitted)
             values ($1, $2, $3, $4, $5, $6, $7) on conflict (task, leg, from_byte) do nothing",
            &[
                &leg.task,
                &leg.number,
                &chunk.from_byte,
                &chunk.to_byte,
                &chunk.lines,
                &chunk.items,
                &chunk.omitted,
            ],
        )
    }

    fn chunks(&mut self, leg: Place, from: i64, limit: u32) -> Result<Vec<ChunkRow>> {
        self.all(
            concat!(
                "select ",
                chunk_columns!(),
                " from transcripts
             where task = $1 and leg = $2 and to_byte > $3 and from_byte >= coalesce(
                (select max(from_byte) from transcripts where task = $1 and leg = $2 and from_byte <= $3), 0)
             order by from_byte limit $4"
            ),
            &[&leg.task, &leg.number, &from, &i64::from(limit)],
            ChunkRow::of_postgres,
        )
    }
}
