//! The statements of SQLite for the daemon's rows.

use acquit_core::store::Standing;
use acquit_core::time::Timestamp;
use rusqlite::{Row, params};

use super::Rows;
use crate::ledger::{DeliveryRow, LedgerTables, LetterRow, MessageRow, NightRow, letter_columns};
use crate::refusal::Result;
use crate::tables::Touched;

impl LedgerTables for Rows<'_> {
    fn meet(&mut self, name: &str, since: Timestamp) -> Result<Standing> {
        self.execute(
            "insert into schedules (name, since) values (?1, ?2) on conflict (name) do nothing",
            params![name, since.0],
        )?;
        let read = |row: &Row<'_>| {
            let paused: Option<i64> = row.get(1)?;
            Ok(Standing { since: Timestamp(row.get(0)?), paused: paused.map(Timestamp) })
        };
        let found = self.one("select since, paused from schedules where name = ?1", [name], read)?;
        Ok(found.unwrap_or(Standing { since, paused: None }))
    }

    fn set_followed(&mut self, name: &str, since: Timestamp, paused: Option<Timestamp>) -> Result<()> {
        self.execute(
            "update schedules set since = ?2, paused = ?3 where name = ?1",
            params![name, since.0, paused.map(|at| at.0)],
        )?;
        Ok(())
    }

    fn insert_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "insert into nights (schedule, nominal, state, version, body) values (?1, ?2, ?3, ?4, ?5)
             on conflict (schedule, nominal) do nothing",
            params![night.schedule, night.nominal, night.state, night.version, night.body],
        )
    }

    fn update_night(&mut self, night: &NightRow) -> Result<Touched> {
        self.execute(
            "update nights set state = ?3, version = ?4, body = ?5
             where schedule = ?1 and nominal = ?2 and version = ?4 - 1",
            params![night.schedule, night.nominal, night.state, night.version, night.body],
        )
    }

    fn nights_of(&mut self, schedule: &str, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where schedule = ?1 order by nominal desc limit ?2",
            params![schedule, limit],
            |row| row.get(0),
        )
    }

    fn open_nights(&mut self, limit: u32) -> Result<Vec<String>> {
        self.all(
            "select body from nights where state in ('queued', 'running') order by nominal, schedule limit ?1",
            [limit],
            |row| row.get(0),
        )
    }

    fn insert_message(&mut self, message: &MessageRow, due: Timestamp) -> Result<()> {
        self.execute(
            "insert into outbox (key, channel, payload, state, due) values (?1, ?2, ?3, 'waiting', ?4)
             on conflict (key) do nothing",
            params![message.key, message.channel, message.payload, due.0],
        )?;
        Ok(())
    }

    fn set_mark(&mut self, name: &str, value: i64) -> Result<()> {
        self.execute(
            "insert into marks (name, value) values (?1, ?2)
             on conflict (name) do update set value = max(value, excluded.value)",
            params![name, value],
        )?;
        Ok(())
    }

    fn mark(&mut self, name: &str) -> Result<Option<i64>> {
        self.one("select value from marks where name = ?1", [name], |row| row.get(0))
    }

    fn take(&mut self, now: Timestamp, lease_until: Timestamp) -> Result<Option<LetterRow>> {
        let found = self.one(
            "select key from outbox where state = 'waiting' and due <= ?1
                and (lease_until is null or lease_until < ?1) order by due, id limit 1",
            [now.0],
            |row| row.get::<_, String>(0),
        )?;
        let Some(key) = found else { return Ok(None) };
        let fence = self.count("fence")?;
        self.one(
            concat!(
                "update outbox set fence = ?2, lease_until = ?3, attempts = attempts + 1 where key = ?1 returning ",
                letter_columns!()
            ),
            params![key, fence, lease_until.0],
            letter_row,
        )
    }

    fn deliver(&mut self, key: &str, fence: i64, to: &DeliveryRow<'_>) -> Result<()> {
        self.execute(
            "update outbox set state = ?3, due = coalesce(?4, due), error = ?5, lease_until = null
             where key = ?1 and fence = ?2 and state = 'waiting'",
            params![key, fence, to.state, to.due, to.error],
        )?;
        Ok(())
    }

    fn letters(&mut self, limit: u32) -> Result<Vec<LetterRow>> {
        self.all(
            concat!("select ", letter_columns!(), " from outbox order by id desc limit ?1"),
            [limit],
            letter_row,
        )
    }

    fn next_letter(&mut self) -> Result<Option<i64>> {
        self.one(
            "select max(due, coalesce(lease_until, due)) from outbox where state = 'waiting' order by 1 limit 1",
            [],
            |row| row.get(0),
        )
    }

    fn ready(&mut self, limit: u32) -> Result<Vec<(i64, i64)>> {
        self.all(
            "select task, not_before from legs where state = 'ready'
             order by priority desc, not_before, task, number limit ?1",
            [limit],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }
}

fn letter_row(row: &Row<'_>) -> rusqlite::Result<LetterRow> {
    Ok(LetterRow {
        key: row.get(0)?,
        channel: row.get(1)?,
        payload: row.get(2)?,
        state: row.get(3)?,
        due: row.get(4)?,
        attempts: row.get(5)?,
        fence: row.get(6)?,
        error: row.get(7)?,
    })
}
