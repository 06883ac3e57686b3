//! Copies a whole store into an empty one, whichever database each is on: backup, restore and move.
//!
//! - The copy is one snapshot of the source, and arrives in one transaction: the target has all of it, or nothing.
//! - A backup runs beside harnesses that write. It reads a snapshot and locks nothing.
//! - A move locks the source against writers, and afterwards marks it as moved: it refuses every write, also of processes that had it open, and
//!   does not open any more. If the program dies between the copy and the mark, the same command finishes the move.
//!
//! [`TABLES`] lists what is copied. A test compares it with the schema of both databases.

mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};

use crate::{Clock, Location, OpenError};

/// Rows that are read and written at a time.
const BATCH: usize = 500;

/// The same of rows with bytes, each of which may be a megabyte.
const BATCH_OF_BYTES: usize = 8;

/// A table, in an order that satisfies every foreign key.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    /// A boolean in PostgreSQL; 0 or 1 in SQLite.
    Bool,
    Text,
    Bytes,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
}

use Kind::{Bool, Bytes, Int, Text};

/// All tables but `meta` and the counters, which are copied by name.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "tasks",
        columns: &[
            ("id", Int),
            ("version", Int),
            ("state", Text),
            ("ended", Bool),
            ("stage", Text),
            ("project_path", Text),
            ("project_name", Text),
            ("title", Text),
            ("workflow", Text),
            ("sandbox", Text),
            ("priority", Int),
            ("legs", Int),
            ("cost", Int),
            ("created", Int),
            ("updated", Int),
            ("body", Text),
            ("definition", Text),
            ("needs", Text),
        ],
    },
    Table {
        name: "legs",
        columns: &[
            ("task", Int),
            ("number", Int),
            ("stage", Text),
            ("state", Text),
            ("entry", Text),
            ("not_before", Int),
            ("cancel", Bool),
            ("fence", Int),
            ("owner", Text),
            ("lease_until", Int),
            ("started", Int),
            ("ended", Int),
            ("usage", Text),
            ("priority", Int),
            ("needs", Text),
        ],
    },
    Table {
        name: "events",
        columns: &[
            ("seq", Int),
            ("task", Int),
            ("leg", Int),
            ("at", Int),
            ("category", Text),
            ("kind", Text),
            ("level", Text),
            ("actor", Text),
            ("summary", Text),
            ("data", Text),
        ],
    },
    Table {
        name: "transcripts",
        columns: &[
            ("task", Int),
            ("leg", Int),
            ("from_byte", Int),
            ("to_byte", Int),
            ("lines", Int),
            ("items", Text),
            ("omitted", Int),
        ],
    },
    Table { name: "roots", columns: &[("project_path", Text), ("fingerprint", Text), ("task", Int)] },
    Table {
        name: "blocked",
        columns: &[("task", Int), ("root", Int), ("project_path", Text), ("fingerprint", Text)],
    },
    Table {
        name: "schedules",
        columns: &[("project", Text), ("name", Text), ("since", Int), ("paused", Int)],
    },
    Table {
        name: "nights",
        columns: &[
            ("project", Text),
            ("schedule", Text),
            ("nominal", Int),
            ("state", Text),
            ("version", Int),
            ("body", Text),
        ],
    },
    Table {
        name: "outbox",
        columns: &[
            ("id", Int),
            ("project", Text),
            ("key", Text),
            ("channel", Text),
            ("payload", Text),
            ("state", Text),
            ("due", Int),
            ("attempts", Int),
            ("fence", Int),
            ("lease_until", Int),
            ("error", Text),
        ],
    },
    Table { name: "marks", columns: &[("project", Text), ("name", Text), ("value", Int)] },
    Table {
        name: "merges",
        columns: &[
            ("task", Int),
            ("project_path", Text),
            ("branch", Text),
            ("leg", Int),
            ("fence", Int),
            ("place", Int),
            ("candidate", Text),
            ("planned", Text),
            ("settled", Text),
        ],
    },
    Table {
        name: "queue_heads",
        columns: &[("project_path", Text), ("branch", Text), ("task", Int), ("leg", Int), ("fence", Int)],
    },
    Table {
        name: "workers",
        columns: &[("name", Text), ("process", Text), ("seen", Int), ("offers", Text), ("body", Text)],
    },
    Table {
        name: "parcels",
        columns: &[
            ("id", Int),
            ("repository", Text),
            ("kind", Text),
            ("task", Int),
            ("leg", Int),
            ("path", Text),
            ("bytes", Int),
            ("body", Text),
        ],
    },
    Table { name: "parcel_parts", columns: &[("parcel", Int), ("part", Int), ("data", Bytes)] },
];

impl Table {
    /// How many of its rows are read and written at a time.
    fn batch(&self) -> usize {
        if self.columns.iter().any(|(_, kind)| *kind == Bytes) { BATCH_OF_BYTES } else { BATCH }
    }

    /// The names of its columns, for a statement.
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// What tells one store from another, and how far its numbers have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    /// The last task id that was given out.
    pub(crate) task: i64,
    /// The last fence that was given out.
    pub(crate) fence: i64,
    /// The last event.
    pub(crate) event: i64,
}

/// A batch of rows of a table.
type Rows = Vec<Vec<Value>>;

/// A result of the copy.
pub(crate) type Result<T> = std::result::Result<T, CopyError>;

/// A store that is read as one snapshot.
pub(crate) trait Source {
    fn identity(&mut self) -> Result<Identity>;
    /// Legs that are running.
    fn running(&mut self) -> Result<u64>;
    /// Gives all rows of a table, batch by batch.
    fn each(&mut self, table: &Table, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()>;
}

/// A store that is written in one transaction.
pub(crate) trait Target {
    /// Its identity, and how many tasks it has.
    fn found(&mut self) -> Result<(Identity, u64)>;
    fn insert(&mut self, table: &Table, rows: Rows) -> Result<()>;
    /// Takes over identity and counters.
    fn take_over(&mut self, identity: &Identity) -> Result<()>;
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many tasks.
    pub tasks: u64,
    /// How many events.
    pub events: u64,
    /// How many rows in all tables.
    pub rows: u64,
}

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is a file where the backup was to be written.
    #[error("write the backup to {}: the file exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no such backup.
    #[error("restore {}: there is no such file", path.display())]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// The target has tasks of its own.
    #[error("copy into the store at {location}: it has {tasks} tasks already")]
    NotEmpty {
        /// Where.
        location: String,
        /// How many.
        tasks: u64,
    },
    /// Source and target are the same store.
    #[error("copy a store onto itself")]
    Same,
    /// Harnesses write to the source.
    #[error("move the store while {legs} legs run")]
    Running {
        /// How many.
        legs: u64,
    },
    /// A file cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("copy the store")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL refused.
    #[error("copy the store")]
    Postgres(#[from] ::postgres::Error),
}

/// Writes a snapshot of the store to a new SQLite file, while others go on writing to the store. The file appears whole.
pub fn backup(from: &Location, file: &Path) -> std::result::Result<Copied, CopyError> {
    if file.exists() {
        return Err(CopyError::Exists { path: file.to_owned() });
    }
    let failed = |source| CopyError::Write { path: file.to_owned(), source };
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let aside = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&aside);
    let copied = copy(from, &Location::Sqlite(aside.clone()), Lock::Nobody);
    // A hard link does not replace a file that appeared meanwhile.
    let linked = copied.and_then(|copied| match std::fs::hard_link(&aside, file) {
        Ok(()) => Ok(copied),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(CopyError::Exists { path: file.to_owned() })
        }
        Err(_) => std::fs::rename(&aside, file).map(|()| copied).map_err(failed),
    });
    for suffix in ["", "-wal", "-shm"] {
        let mut leftover = aside.clone().into_os_string();
        leftover.push(suffix);
        let _ = std::fs::remove_file(leftover);
    }
    linked
}

/// Brings a backup into an empty store. The store gets the id of the one that was saved.
pub fn restore(file: &Path, to: &Location) -> std::result::Result<Copied, CopyError> {
    if !file.is_file() {
        return Err(CopyError::NoBackup { path: file.to_owned() });
    }
    copy(&Location::Sqlite(file.to_owned()), to, Lock::Nobody)
}

/// Moves the store to an empty one. The old one is kept, and refuses to be used.
pub fn move_to(from: &Location, to: &Location) -> std::result::Result<Copied, CopyError> {
    copy(from, to, Lock::Writers { moved_to: to.to_string() })
}

/// Who may write to the source during the copy and after it.
pub(crate) enum Lock {
    /// Everybody.
    Nobody,
    /// Nobody: it moves.
    Writers {
        /// Where to, as others are told.
        moved_to: String,
    },
}

fn copy(from: &Location, to: &Location, lock: Lock) -> Result<Copied> {
    // Both are made or migrated first, so that source and target have the same tables.
    drop(crate::open(from, Clock::System)?);
    drop(crate::open(to, Clock::System)?);
    let moves = matches!(lock, Lock::Writers { .. });
    let mut into = |source: &mut dyn Source| match to {
        Location::Sqlite(path) => sqlite::write(path, |target| transfer(source, target, to, moves)),
        Location::Postgres(address) => postgres::write(address, |target| transfer(source, target, to, moves)),
    };
    match from {
        Location::Sqlite(path) => sqlite::read(path, &lock, &mut into),
        Location::Postgres(address) => postgres::read(address, &lock, &mut into),
    }
}

/// Copies all rows. A target that has them already, because an earlier move died before it marked the source, is left as it is.
fn transfer(source: &mut dyn Source, target: &mut dyn Target, to: &Location, moves: bool) -> Result<Copied> {
    let identity = source.identity()?;
    let (found, tasks) = target.found()?;
    if moves && source.running()? > 0 {
        return Err(CopyError::Running { legs: source.running()? });
    }
    if found == identity && tasks > 0 {
        return if moves { count(source) } else { Err(CopyError::Same) };
    }
    if tasks > 0 {
        return Err(CopyError::NotEmpty { location: to.to_string(), tasks });
    }
    let mut copied = Copied::default();
    for table in TABLES {
        source.each(table, &mut |rows| {
            copied.add(table, &rows);
            target.insert(table, rows)
        })?;
    }
    target.take_over(&identity)?;
    Ok(copied)
}

/// Counts what an earlier move copied.
fn count(source: &mut dyn Source) -> Result<Copied> {
    let mut copied = Copied::default();
    for table in TABLES {
        source.each(table, &mut |rows| {
            copied.add(table, &rows);
            Ok(())
        })?;
    }
    Ok(copied)
}

impl Copied {
    fn add(&mut self, table: &Table, rows: &Rows) {
        let rows = rows.len() as u64;
        self.rows += rows;
        match table.name {
            "tasks" => self.tasks += rows,
            "events" => self.events += rows,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn listed() -> BTreeSet<(String, String)> {
        let column = |table: &Table| {
            table
                .columns
                .iter()
                .map(|(column, _)| (table.name.to_owned(), (*column).to_owned()))
                .collect::<Vec<_>>()
        };
        TABLES.iter().flat_map(column).collect()
    }

    #[test]
    fn every_column_of_sqlite_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let connection = crate::sqlite::file::open(&folder.path().join("store.db")).expect("a store");
        let query = "select t.name, c.name from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table' \
             and t.name not in ('meta', 'counters') and t.name not like 'sqlite_%'";
        let mut query = connection.prepare(query).expect("a query");
        let found = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        assert_eq!(found.map(|row| row.expect("a row")).collect::<BTreeSet<_>>(), listed());
    }

    #[test]
    fn every_column_of_postgres_is_copied() {
        let Some(database) = acquit_testkit::postgres::database_or_skip("columns that are copied") else {
            return;
        };
        let location = Location::parse(&database.url);
        drop(crate::open(&location, Clock::System).expect("a store"));
        let Location::Postgres(address) = location else { panic!("a server") };
        let mut client = crate::postgres::connect::client(&address).expect("a connection");
        let query = "select table_name::text, column_name::text from information_schema.columns \
             where table_schema = 'public' and table_name <> 'meta'";
        let rows = client.query(query, &[]).expect("rows");
        assert_eq!(rows.iter().map(|row| (row.get(0), row.get(1))).collect::<BTreeSet<_>>(), listed());
    }
}
