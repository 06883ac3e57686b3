//! The tables of acquit, on SQLite and on PostgreSQL.
//!
//! Both databases hold the same tables (tasks, legs, events, transcripts, roots, merge queues, and those of the daemon) and keep the same promises, those of
//! [`acquit_core::store::Store`]; the suite in `tests/conformance` is run on both. What follows from a method is decided
//! once: `database` turns a call into one transaction, `step` carries out a task's changes row by row, `record` says
//! what a row holds. `sqlite` and `postgres` each write their own SQL for the rows and know how their database begins a
//! transaction, tells the time and waits.
//!
//! What must never be wrong stands in the schema, where no mistake of this program can reach it: one active leg per
//! task, states and their columns that fit together, transcripts without empty chunks.

mod clock;
mod copy;
mod database;
mod location;
mod migrate;
mod postgres;
mod queue;
mod record;
mod row;
mod sqlite;
mod step;
mod tables;
mod tx_error;

use std::path::PathBuf;

use acquit_core::store::{Error, Store};

pub use clock::Clock;
pub use copy::{Copied, CopyError, backup, move_to, restore};
pub use location::{Address, Location};
pub use postgres::TlsError;

/// Opens the store, making or migrating it where that is needed.
pub fn open(location: &Location, clock: Clock) -> Result<Box<dyn Store>, OpenError> {
    Ok(match location {
        Location::Sqlite(path) => Box::new(database::Database(sqlite::Sqlite::open(path, clock)?)),
        Location::Postgres(address) => {
            Box::new(database::Database(postgres::Postgres::open(address, clock)?))
        }
    })
}

/// What the database itself finds wrong with the store. PostgreSQL looks after its own files.
pub fn integrity(location: &Location) -> Result<Vec<String>, OpenError> {
    match location {
        Location::Sqlite(path) => sqlite::file::integrity(path),
        Location::Postgres(_) => Ok(Vec::new()),
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file, or the folder around it, cannot be made.
    #[error("create the store at {}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// SQLite cannot use the file.
    #[error("open the store at {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        #[source]
        source: rusqlite::Error,
    },
    /// There is a file, but it is something else.
    #[error("open the store at {}: the file is not a database of acquit", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file may be read only, and a store must be written.
    #[error("open the store at {}: the file or its folder is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process keeps the file locked.
    #[error("open the store at {}: another process keeps it locked", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// This program was built with an SQLite that can damage files.
    #[error("use SQLite {found}: it must be {needed} or newer")]
    OldSqlite {
        /// What is linked.
        found: &'static str,
        /// What is needed.
        needed: &'static str,
    },
    /// The address of the server cannot be understood.
    #[error("understand the address of the PostgreSQL server")]
    Address(#[source] ::postgres::Error),
    /// What the address says about TLS cannot be used.
    #[error("connect to PostgreSQL with TLS")]
    Tls(#[source] TlsError),
    /// The server does not answer as it should.
    #[error("connect to PostgreSQL at {server}")]
    Connect {
        /// Where, without user and password.
        server: String,
        /// The driver's words.
        #[source]
        source: ::postgres::Error,
    },
    /// The store was moved to another place.
    #[error("open the store at {location}: it has moved to {place}")]
    Moved {
        /// Where it was.
        location: String,
        /// Where it is now, without user and password.
        place: String,
    },
    /// The store is there, but cannot be used as it is.
    #[error("use the store")]
    Store(#[from] Error),
}
