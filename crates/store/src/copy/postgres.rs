//! Reads and writes whole tables of a PostgreSQL database.

use std::io::Write;

use postgres::{IsolationLevel, Row, Transaction};

use super::{Copied, Identity, Kind, Lock, Result, Rows, Source, TABLES, Table, Target, Value};
use crate::location::Address;
use crate::postgres::connect;

/// Removes the statement timeouts: copying a large store takes longer than a statement of a leg may.
const NO_LIMIT: &str = "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";

/// Runs a reader on a snapshot of the store. If the store moves, locks out writers and marks the store at the end.
pub(super) fn read(
    address: &Address,
    lock: &Lock,
    into: &mut dyn FnMut(&mut dyn Source) -> Result<Copied>,
) -> Result<Copied> {
    let mut client = connect::client(address)?;
    let mut transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start()?;
    transaction.batch_execute(NO_LIMIT)?;
    if let Lock::Writers { .. } = lock {
        let tables: Vec<_> = TABLES.iter().map(|table| table.name).collect();
        // Lock before the first query, so that the snapshot is taken under the lock.
        transaction
            .batch_execute(&format!("lock table {} in share row exclusive mode", tables.join(", ")))?;
    }
    let mut reader = Reader(transaction);
    let copied = into(&mut reader)?;
    if let Lock::Writers { moved_to } = lock {
        mark(&mut reader.0, moved_to)?;
        reader.0.commit()?;
    }
    Ok(copied)
}

/// Marks the store as moved: opening it reports the new location, and every write of a process that had it open fails.
fn mark(transaction: &mut Transaction<'_>, moved_to: &str) -> Result<()> {
    transaction.batch_execute(
        "create table moved (place text not null);
         create function moved_refuse() returns trigger language plpgsql as
         $$ begin raise exception 'this store has moved to %', (select place from moved); end $$",
    )?;
    transaction.execute("insert into moved values ($1)", &[&moved_to])?;
    for table in TABLES.iter().map(|table| table.name).chain(["meta"]) {
        transaction.batch_execute(&format!(
            "create trigger moved_{table} before insert or update or delete on {table}
             for each statement execute function moved_refuse()"
        ))?;
    }
    Ok(())
}

struct Reader<'a>(Transaction<'a>);

impl Source for Reader<'_> {
    fn identity(&mut self) -> Result<Identity> {
        identity(&mut self.0)
    }

    fn running(&mut self) -> Result<u64> {
        let row = self.0.query_one("select count(*) from legs where state = 'running'", &[])?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    fn each(&mut self, table: &Table, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        let statement = self.0.prepare(&format!("select {} from {}", table.names(), table.name))?;
        let portal = self.0.bind(&statement, &[])?;
        loop {
            let rows = self.0.query_portal(&portal, i32::try_from(table.batch()).unwrap_or(i32::MAX))?;
            if rows.is_empty() {
                return Ok(());
            }
            take(rows.iter().map(|row| values(row, table)).collect())?;
        }
    }
}

fn values(row: &Row, table: &Table) -> Vec<Value> {
    let value = |(index, (_, kind)): (usize, &(&str, Kind))| match kind {
        Kind::Int => row.get::<_, Option<i64>>(index).map_or(Value::Null, Value::Int),
        Kind::Bool => row.get::<_, Option<bool>>(index).map_or(Value::Null, Value::Bool),
        Kind::Text => row.get::<_, Option<String>>(index).map_or(Value::Null, Value::Text),
        Kind::Bytes => row.get::<_, Option<Vec<u8>>>(index).map_or(Value::Null, Value::Bytes),
    };
    table.columns.iter().enumerate().map(value).collect()
}

fn identity(transaction: &mut Transaction<'_>) -> Result<Identity> {
    const QUERY: &str = "select id, (select case when is_called then last_value else 0 end from task_ids), \
         (select case when is_called then last_value else 0 end from fences), \
         (select coalesce(max(seq), 0) from events) from meta";
    let row = transaction.query_one(QUERY, &[])?;
    Ok(Identity { id: row.get(0), task: row.get(1), fence: row.get(2), event: row.get(3) })
}

/// Runs a writer on the store, in one transaction.
pub(super) fn write(
    address: &Address,
    from: impl FnOnce(&mut dyn Target) -> Result<Copied>,
) -> Result<Copied> {
    let mut client = connect::client(address)?;
    let mut transaction = client.transaction()?;
    transaction.batch_execute(NO_LIMIT)?;
    // Prevent others from creating tasks, or copying into the store, meanwhile.
    transaction.batch_execute("lock table tasks in share row exclusive mode")?;
    let mut writer = Writer(transaction);
    let copied = from(&mut writer)?;
    writer.0.commit()?;
    Ok(copied)
}

struct Writer<'a>(Transaction<'a>);

impl Target for Writer<'_> {
    fn found(&mut self) -> Result<(Identity, u64)> {
        let tasks: i64 = self.0.query_one("select count(*) from tasks", &[])?.get(0);
        Ok((identity(&mut self.0)?, tasks.unsigned_abs()))
    }

    /// Uses COPY, which also accepts values for columns that the database would number itself.
    fn insert(&mut self, table: &Table, rows: Rows) -> Result<()> {
        let mut text = String::new();
        for row in rows {
            for (index, value) in row.into_iter().enumerate() {
                if index > 0 {
                    text.push('\t');
                }
                field(&mut text, value);
            }
            text.push('\n');
        }
        let mut copy = self.0.copy_in(&format!("copy {} ({}) from stdin", table.name, table.names()))?;
        // A write fails only if the statement fails, and `finish` reports why.
        let _ = copy.write_all(text.as_bytes());
        copy.finish()?;
        Ok(())
    }

    fn take_over(&mut self, identity: &Identity) -> Result<()> {
        self.0.execute("update meta set id = $1", &[&identity.id])?;
        for (sequence, value) in [("task_ids", identity.task), ("fences", identity.fence)] {
            self.0.execute(
                "select setval($1::text::regclass, greatest($2::bigint, 1), $2::bigint > 0)",
                &[&sequence, &value],
            )?;
        }
        for (table, column) in [("events", "seq"), ("outbox", "id"), ("parcels", "id")] {
            self.0.batch_execute(&format!(
                "select setval(pg_get_serial_sequence('{table}', '{column}'), greatest(max({column}), 1), count(*) > 0) from {table}"
            ))?;
        }
        Ok(())
    }
}

/// Appends a value in the text format of COPY.
fn field(text: &mut String, value: Value) {
    match value {
        Value::Null => text.push_str("\\N"),
        Value::Int(value) => text.push_str(&value.to_string()),
        Value::Bool(value) => text.push(if value { 't' } else { 'f' }),
        Value::Bytes(value) => {
            text.push_str("\\\\x");
            text.push_str(&acquit_core::hex::encode(&value));
        }
        Value::Text(value) => {
            for character in value.chars() {
                match character {
                    '\\' => text.push_str("\\\\"),
                    '\t' => text.push_str("\\t"),
                    '\n' => text.push_str("\\n"),
                    '\r' => text.push_str("\\r"),
                    other => text.push(other),
                }
            }
        }
    }
}
