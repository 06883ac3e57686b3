//! SQLite statements for the daemon's rows.

use acquit_core::store::{Mark, Standing};
use acquit_core::time::Timestamp;
use rusqlite::{Row, params};

use super::Rows;
use crate::tables::Touched;
use crate::tables::{DeliveryRow, LedgerTables, LetterRow, MessageRow, NightRow, letter_columns};
use crate::tx_error::Result;

impl LedgerTables for Rows<'_> {
    fn meet(&mut self, project: &str, name: &str, since: Timestamp) -> Result<Standing> {
        self.execute(
            "insert into schedules (project, name, since, paused)
             values (?1, ?2, coalesce((select since from schedules where project = '*' and name = ?2), ?3),
                (select paused from schedules where project = '*' and name = ?2))
             on conflict (project, name) do nothing",
            params![project, name, since.0],
        )?;
        let read = |row: &Row<'_>| {
            let paused: Option<i64> = row.get(1)?;
            Ok(Standing { since: Timestamp(row.get(0)?), paused: paused.map(Timestamp) })
        };
        let found = self.one(
            "select since, paused from schedules where project = ?1 and name = ?2",
            params![project, name],
            read,
        )?;
        Ok(found.unwrap_or(Standing { since, paused: None }))
    }

    fn set_followed(&mut self, project: &str, name: &str, to: &Standing) -> Result<()> {
        self.execute(
            "update schedules set since = ?3, paused = ?4 where project = ?1 and name = ?2",
            params![project, name, to.since.0, to.paused.map(|at| at.0)],
        )?;
        Ok(())
    }

    fn insert_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "insert into nights (schedule, nominal, state, version, body, project) values (?1, ?2, ?3, ?4, ?5, ?6)
             on conflict (project, schedule, nominal) do nothing",
            params![night.schedule, night.nominal, night.state, night.version, night.body, night.project],
        )
    }

    fn update_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "update nights set state = ?3, version = ?4, body = ?5
             where schedule = ?1 and nominal = ?2 and version = ?4 - 1 and project = ?6",
            params![night.schedule, night.nominal, night.state, night.version, night.body, night.project],
        )
    }

    fn nights_of(&mut self, project: &str, schedule: &str, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where project = ?1 and schedule = ?2 order by nominal desc limit ?3",
            params![project, schedule, limit],
            |row| row.get(0),
        )
    }

    fn open_nights(&mut self, project: &str, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where state in ('queued', 'running') and project = ?2
             order by nominal, schedule limit ?1",
            params![limit, project],
            |row| row.get(0),
        )
    }

    fn insert_message(&mut self, message: &MessageRow, due: Timestamp) -> Result<()> {
        self.execute(
            "insert into outbox (key, channel, payload, state, due, project) values (?1, ?2, ?3, 'waiting', ?4, ?5)
             on conflict (project, key) do nothing",
            params![message.key, message.channel, message.payload, due.0, message.project],
        )?;
        Ok(())
    }

    fn set_mark(&mut self, mark: &Mark<'_>, value: i64) -> Result<()> {
        self.execute(
            "insert into marks (project, name, value) values (?1, ?2, ?3)
             on conflict (project, name) do update set value = max(value, excluded.value)",
            params![mark.project, mark.name, value],
        )?;
        Ok(())
    }

    fn mark(&mut self, mark: &Mark<'_>) -> Result<Option<i64>> {
        self.one(
            "select value from marks where project in (?1, '*') and name = ?2 order by project = '*' limit 1",
            params![mark.project, mark.name],
            |row| row.get(0),
        )
    }

    fn take(&mut self, project: &str, now: Timestamp, lease_until: Timestamp) -> Result<Option<LetterRow>> {
        let found = self.one(
            "select id from outbox where state = 'waiting' and due <= ?1 and project = ?2
                and (lease_until is null or lease_until < ?1) order by due, id limit 1",
            params![now.0, project],
            |row| row.get::<_, i64>(0),
        )?;
        let Some(id) = found else { return Ok(None) };
        let fence = self.count("fence")?;
        self.one(
            concat!(
                "update outbox set fence = ?2, lease_until = ?3, attempts = attempts + 1 where id = ?1 returning ",
                letter_columns!()
            ),
            params![id, fence, lease_until.0],
            LetterRow::of_sqlite,
        )
    }

    fn deliver(&mut self, fence: i64, to: &DeliveryRow<'_>) -> Result<()> {
        self.execute(
            "update outbox set state = ?2, due = coalesce(?3, due), error = ?4, lease_until = null
             where fence = ?1 and state = 'waiting'",
            params![fence, to.state, to.due, to.error],
        )?;
        Ok(())
    }

    fn letters(&mut self, limit: u32) -> Result<Vec<LetterRow>> {
        self.all(
            concat!("select ", letter_columns!(), " from outbox order by id desc limit ?1"),
            [limit],
            LetterRow::of_sqlite,
        )
    }

    fn next_letter(&mut self, project: &str) -> Result<Option<i64>> {
        self.one(
            "select max(due, coalesce(lease_until, due)) from outbox where state = 'waiting' and project = ?1
             order by 1 limit 1",
            [project],
            |row| row.get(0),
        )
    }
}
