//! Copies a whole store into an empty one, on any combination of databases: backup, restore and move.
//!
//! - The copy is one snapshot of the source and is written in one transaction: the target gets all of it, or nothing.
//! - A backup runs while harnesses write. It reads a snapshot and locks nothing.
//! - A move locks the source against writers, and then marks it as moved. A moved store rejects every write, including
//!   those of processes that had it open, and can no longer be opened. If the program dies between the copy and the
//!   mark, the same command finishes the move.
//!
//! [`TABLES`] lists what is copied. A test compares it with the schema of both databases.

mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};

use acquit_core::store::Disk;

use crate::{Clock, Location, OpenError};

/// Number of rows to read and write at a time.
const BATCH: usize = 500;

/// Number of rows at a time for tables with binary columns, each of which may hold a megabyte.
const BATCH_OF_BYTES: usize = 8;

/// A table. Tables are listed in an order that satisfies every foreign key.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
}

/// Type of a column.
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

/// All tables except `meta` and the counters, which are copied by name.
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
            ("pools", Text),
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
            ("turn", Int),
            ("pools", Text),
            ("renewals", Int),
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
    Table { name: "turns", columns: &[("project_path", Text), ("priority", Int), ("turn", Int)] },
    Table { name: "pools", columns: &[("name", Text), ("at_once", Int), ("paused_until", Int)] },
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
    /// Returns the number of rows to read and write at a time.
    fn batch(&self) -> usize {
        if self.columns.iter().any(|(_, kind)| *kind == Bytes) { BATCH_OF_BYTES } else { BATCH }
    }

    /// Returns the column names for a statement.
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// Identity and counters of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    /// Last assigned task id.
    pub(crate) task: i64,
    /// Last assigned fence.
    pub(crate) fence: i64,
    /// Last event number.
    pub(crate) event: i64,
}

/// A batch of rows of a table.
type Rows = Vec<Vec<Value>>;

/// Result of a copy.
pub(crate) type Result<T> = std::result::Result<T, CopyError>;

/// A store that is read as one snapshot.
pub(crate) trait Source {
    fn identity(&mut self) -> Result<Identity>;
    /// Returns the number of running legs.
    fn running(&mut self) -> Result<u64>;
    /// Passes all rows of a table to `take`, batch by batch.
    fn each(&mut self, table: &Table, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()>;
}

/// A store that is written in one transaction.
pub(crate) trait Target {
    /// Returns its identity and the number of its tasks.
    fn found(&mut self) -> Result<(Identity, u64)>;
    fn insert(&mut self, table: &Table, rows: Rows) -> Result<()>;
    /// Sets the identity and the counters.
    fn take_over(&mut self, identity: &Identity) -> Result<()>;
}

/// Counts of copied rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Number of tasks.
    pub tasks: u64,
    /// Number of events.
    pub events: u64,
    /// Number of rows in all tables.
    pub rows: u64,
}

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The backup file already exists.
    #[error("write the backup to {}: the file exists", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The backup does not exist.
    #[error("restore {}: there is no such file", path.display())]
    NoBackup {
        /// Path of the file.
        path: PathBuf,
    },
    /// The target already has tasks.
    #[error("copy into the store at {location}: it has {tasks} tasks already")]
    NotEmpty {
        /// Location of the target.
        location: String,
        /// Number of its tasks.
        tasks: u64,
    },
    /// Source and target are the same store.
    #[error("copy a store onto itself")]
    Same,
    /// Harnesses write to the source.
    #[error("move the store while {legs} legs run")]
    Running {
        /// Number of running legs.
        legs: u64,
    },
    /// A file cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// An error of SQLite.
    #[error("copy the store")]
    Sqlite(#[from] rusqlite::Error),
    /// An error of PostgreSQL.
    #[error("copy the store")]
    Postgres(#[from] ::postgres::Error),
}

impl CopyError {
    /// Returns why the disk took no data, if the database says so. An error of the system is among the causes.
    pub fn disk(&self) -> Option<Disk> {
        match self {
            Self::Open(error) => error.disk(),
            Self::Sqlite(error) => crate::tx_error::of_sqlite(error),
            Self::Exists { .. }
            | Self::NoBackup { .. }
            | Self::NotEmpty { .. }
            | Self::Same
            | Self::Running { .. }
            | Self::Write { .. }
            | Self::Postgres(_) => None,
        }
    }
}

/// Atomically writes a snapshot of the store to a new SQLite file, while others continue to write to the store.
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

/// Restores a backup into an empty store. The store gets the id of the one that was backed up.
pub fn restore(file: &Path, to: &Location) -> std::result::Result<Copied, CopyError> {
    if !file.is_file() {
        return Err(CopyError::NoBackup { path: file.to_owned() });
    }
    copy(&Location::Sqlite(file.to_owned()), to, Lock::Nobody)
}

/// Moves the store to an empty one. The old store is kept, but can no longer be used.
pub fn move_to(from: &Location, to: &Location) -> std::result::Result<Copied, CopyError> {
    copy(from, to, Lock::Writers { moved_to: to.to_string() })
}

/// Which access to the source is blocked during the copy and afterwards.
pub(crate) enum Lock {
    /// None.
    Nobody,
    /// Writers, because the store moves.
    Writers {
        /// New location, as shown to others.
        moved_to: String,
    },
}

fn copy(from: &Location, to: &Location, lock: Lock) -> Result<Copied> {
    // Create or migrate both first, so that source and target have the same tables.
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

/// Copies all rows. Leaves a target unchanged that already has them, because an earlier move died before it marked the
/// source.
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
