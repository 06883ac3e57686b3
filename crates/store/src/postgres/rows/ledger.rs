//! PostgreSQL statements for the daemon's rows.

use acquit_core::store::{Mark, Standing};
use acquit_core::time::Timestamp;
use postgres::{GenericClient, Row};

use super::Rows;
use crate::tables::Touched;
use crate::tables::{DeliveryRow, LedgerTables, LetterRow, MessageRow, NightRow, letter_columns};
use crate::tx_error::Result;

impl<C: GenericClient> LedgerTables for Rows<'_, C> {
    fn meet(&mut self, project: &str, name: &str, since: Timestamp) -> Result<Standing> {
        self.execute(
            "insert into schedules (project, name, since, paused)
             values ($1, $2, coalesce((select since from schedules where project = '*' and name = $2), $3),
                (select paused from schedules where project = '*' and name = $2))
             on conflict (project, name) do nothing",
            &[&project, &name, &since.0],
        )?;
        let read = |row: &Row| {
            let paused: Option<i64> = row.get(1);
            Standing { since: Timestamp(row.get(0)), paused: paused.map(Timestamp) }
        };
        let found = self.one(
            "select since, paused from schedules where project = $1 and name = $2",
            &[&project, &name],
            read,
        )?;
        Ok(found.unwrap_or(Standing { since, paused: None }))
    }

    fn set_followed(&mut self, project: &str, name: &str, to: &Standing) -> Result<()> {
        self.execute(
            "update schedules set since = $3, paused = $4 where project = $1 and name = $2",
            &[&project, &name, &to.since.0, &to.paused.map(|at| at.0)],
        )?;
        Ok(())
    }

    fn insert_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "insert into nights (schedule, nominal, state, version, body, project) values ($1, $2, $3, $4, $5, $6)
             on conflict (project, schedule, nominal) do nothing",
            &[&night.schedule, &night.nominal, &night.state, &night.version, &night.body, &night.project],
        )
    }

    fn update_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "update nights set state = $3, version = $4::bigint, body = $5
             where schedule = $1 and nominal = $2 and version = $4::bigint - 1 and project = $6",
            &[&night.schedule, &night.nominal, &night.state, &night.version, &night.body, &night.project],
        )
    }

    fn nights_of(&mut self, project: &str, schedule: &str, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where project = $1 and schedule = $2 order by nominal desc limit $3",
            &[&project, &schedule, &i64::from(limit)],
            |row| row.get(0),
        )
    }

    fn open_nights(&mut self, project: &str, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where state in ('queued', 'running') and project = $2
             order by nominal, schedule limit $1",
            &[&i64::from(limit), &project],
            |row| row.get(0),
        )
    }

    fn insert_message(&mut self, message: &MessageRow, due: Timestamp) -> Result<()> {
        self.execute(
            "insert into outbox (key, channel, payload, state, due, project) values ($1, $2, $3, 'waiting', $4, $5)
             on conflict (project, key) do nothing",
            &[&message.key, &message.channel, &message.payload, &due.0, &message.project],
        )?;
        Ok(())
    }

    fn set_mark(&mut self, mark: &Mark<'_>, value: i64) -> Result<()> {
        self.execute(
            "insert into marks (project, name, value) values ($1, $2, $3)
             on conflict (project, name) do update set value = greatest(marks.value, excluded.value)",
            &[&mark.project, &mark.name, &value],
        )?;
        Ok(())
    }

    fn mark(&mut self, mark: &Mark<'_>) -> Result<Option<i64>> {
        self.one(
            "select value from marks where project in ($1, '*') and name = $2 order by project = '*' limit 1",
            &[&mark.project, &mark.name],
            |row| row.get(0),
        )
    }

    fn take(&mut self, project: &str, now: Timestamp, lease_until: Timestamp) -> Result<Option<LetterRow>> {
        self.one(
            concat!(
                "with next as materialized (select id as i from outbox where state = 'waiting' and due <= $1
                    and project = $3 and (lease_until is null or lease_until < $1)
                    order by due, id limit 1 for update skip locked)
                 update outbox set fence = nextval('fences'), lease_until = $2, attempts = attempts + 1
                 from next where id = i returning ",
                letter_columns!()
            ),
            &[&now.0, &lease_until.0, &project],
            LetterRow::of_postgres,
        )
    }

    fn deliver(&mut self, fence: i64, to: &DeliveryRow<'_>) -> Result<()> {
        self.execute(
            "update outbox set state = $2, due = coalesce($3, due), error = $4, lease_until = null
             where fence = $1 and state = 'waiting'",
            &[&fence, &to.state, &to.due, &to.error],
        )?;
        Ok(())
    }

    fn letters(&mut self, limit: u32) -> Result<Vec<LetterRow>> {
        self.all(
            concat!("select ", letter_columns!(), " from outbox order by id desc limit $1"),
            &[&i64::from(limit)],
            LetterRow::of_postgres,
        )
    }

    fn next_letter(&mut self, project: &str) -> Result<Option<i64>> {
        self.one(
            "select greatest(due, coalesce(lease_until, due)) from outbox where state = 'waiting' and project = $1
             order by 1 limit 1",
            &[&project],
            |row| row.get(0),
        )
    }
}
