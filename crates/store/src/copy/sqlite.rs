//! Reads and writes whole tables of an SQLite file.

use std::path::Path;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params_from_iter};

use super::{Copied, Identity, Kind, Lock, Result, Rows, Source, TABLES, Table, Target, Value};
use crate::sqlite::file;

/// Runs a reader on a snapshot of the file. If the store moves, locks out writers and marks the store at the end.
pub(super) fn read(
    path: &Path,
    lock: &Lock,
    into: &mut dyn FnMut(&mut dyn Source) -> Result<Copied>,
) -> Result<Copied> {
    let mut connection = file::open(path)?;
    match lock {
        Lock::Nobody => {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
            into(&mut Reader(transaction))
        }
        Lock::Writers { moved_to } => {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut reader = Reader(transaction);
            let copied = into(&mut reader)?;
            mark(&reader.0, moved_to)?;
            reader.0.commit()?;
            Ok(copied)
        }
    }
}

/// Marks the store as moved: opening it reports the new location, and every write of a process that had it open fails.
fn mark(connection: &Connection, moved_to: &str) -> Result<()> {
    connection.execute_batch("create table moved (place text not null) strict")?;
    connection.execute("insert into moved values (?1)", [moved_to])?;
    let words = format!("this store has moved to {moved_to}").replace('\'', "''");
    for table in TABLES.iter().map(|table| table.name).chain(["counters", "meta"]) {
        for verb in ["insert", "update", "delete"] {
            connection.execute_batch(&format!(
                "create trigger moved_{table}_{verb} before {verb} on {table}
                 begin select raise(abort, '{words}'); end"
            ))?;
        }
    }
    Ok(())
}

struct Reader<'a>(Transaction<'a>);

impl Source for Reader<'_> {
    fn identity(&mut self) -> Result<Identity> {
        identity(&self.0)
    }

    fn running(&mut self) -> Result<u64> {
        count(&self.0, "select count(*) from legs where state = 'running'")
    }

    fn each(&mut self, table: &Table, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        let mut statement = self.0.prepare(&format!("select {} from {}", table.names(), table.name))?;
        let mut found = statement.query([])?;
        let mut batch = Rows::new();
        while let Some(row) = found.next()? {
            batch.push(values(row, table)?);
            if batch.len() == table.batch() {
                take(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() { Ok(()) } else { take(batch) }
    }
}

fn values(row: &Row<'_>, table: &Table) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(table.columns.len());
    for (index, (_, kind)) in table.columns.iter().enumerate() {
        values.push(match (row.get_ref(index)?, kind) {
            (ValueRef::Null, _) => Value::Null,
            (_, Kind::Int) => Value::Int(row.get(index)?),
            (_, Kind::Bool) => Value::Bool(row.get(index)?),
            (_, Kind::Text) => Value::Text(row.get(index)?),
            (_, Kind::Bytes) => Value::Bytes(row.get(index)?),
        });
    }
    Ok(values)
}

fn identity(connection: &Connection) -> Result<Identity> {
    const QUERY: &str = "select id, (select value from counters where name = 'task'), \
         (select value from counters where name = 'fence'), (select coalesce(max(seq), 0) from events) from meta";
    Ok(connection.query_row(QUERY, [], |row| {
        Ok(Identity { id: row.get(0)?, task: row.get(1)?, fence: row.get(2)?, event: row.get(3)? })
    })?)
}

fn count(connection: &Connection, query: &str) -> Result<u64> {
    Ok(connection.query_row(query, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Runs a writer on the file, in one transaction.
pub(super) fn write(path: &Path, from: impl FnOnce(&mut dyn Target) -> Result<Copied>) -> Result<Copied> {
    let mut connection = file::open(path)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut writer = Writer(transaction);
    let copied = from(&mut writer)?;
    writer.0.commit()?;
    Ok(copied)
}

struct Writer<'a>(Transaction<'a>);

impl Target for Writer<'_> {
    fn found(&mut self) -> Result<(Identity, u64)> {
        Ok((identity(&self.0)?, count(&self.0, "select count(*) from tasks")?))
    }

    fn insert(&mut self, table: &Table, rows: Rows) -> Result<()> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let statement = format!("insert into {} ({}) values ({marks})", table.name, table.names());
        let mut statement = self.0.prepare_cached(&statement)?;
        for row in rows {
            statement.execute(params_from_iter(row))?;
        }
        Ok(())
    }

    fn take_over(&mut self, identity: &Identity) -> Result<()> {
        self.0.execute("update meta set id = ?1", [&identity.id])?;
        for (name, value) in [("task", identity.task), ("fence", identity.fence)] {
            self.0.execute("update counters set value = ?2 where name = ?1", (name, value))?;
        }
        Ok(())
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::Borrowed(ValueRef::Null)),
            Self::Int(value) => value.to_sql(),
            Self::Bool(value) => value.to_sql(),
            Self::Text(value) => value.to_sql(),
            Self::Bytes(value) => value.to_sql(),
        }
    }
}
