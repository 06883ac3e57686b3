//! The store of acquit, on SQLite and PostgreSQL.
//!
//! Both databases have the same tables (tasks, legs, events, transcripts, roots, merge queues, and those of the daemon)
//! and keep the same promises, those of [`acquit_core::store::Store`]; the suite in `tests/conformance` runs on both.
//! The logic of a method exists only once: `database` turns a call into one transaction, `step` applies a task's
//! changes row by row, `record` defines the content of a row. `sqlite` and `postgres` each have their own SQL for the
//! rows, and know how their database starts a transaction, reads the time and waits.
//!
//! Critical invariants are in the schema, where no bug of this program can break them: one active leg per task, states
//! with matching columns, transcripts without empty chunks.

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

use acquit_core::store::{Disk, Error, Store};

pub use clock::Clock;
pub use copy::{Copied, CopyError, backup, move_to, restore};
pub use location::{Address, Location};
pub use postgres::TlsError;

/// Opens the store. Creates or migrates it if needed.
pub fn open(location: &Location, clock: Clock) -> Result<Box<dyn Store>, OpenError> {
    Ok(match location {
        Location::Sqlite(path) => Box::new(database::Database(sqlite::Sqlite::open(path, clock)?)),
        Location::Postgres(address) => {
            Box::new(database::Database(postgres::Postgres::open(address, clock)?))
        }
    })
}

/// Runs the database's own integrity check. PostgreSQL checks its files itself.
pub fn integrity(location: &Location) -> Result<Vec<String>, OpenError> {
    match location {
        Location::Sqlite(path) => sqlite::file::integrity(path),
        Location::Postgres(_) => Ok(Vec::new()),
    }
}

/// Gives a database role the rights of a worker, and no others.
pub fn grant_worker(location: &Location, role: &str) -> Result<(), GrantError> {
    match location {
        Location::Sqlite(_) => Err(GrantError::NotShared),
        Location::Postgres(address) => postgres::worker_role::grant(address, role),
    }
}

/// Why a database role did not get the rights of a worker.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store is a file, which has no roles.
    #[error("grant rights in a store on SQLite: only PostgreSQL has roles")]
    NotShared,
    /// There is no such role.
    #[error("grant rights to {role}: the database has no such role")]
    NoRole {
        /// Name of the role.
        role: String,
    },
    /// No grant can restrict the role.
    #[error("grant rights to {role}: this role is a superuser or owns the tables, so it can do everything")]
    Unlimited {
        /// Name of the role.
        role: String,
    },
    /// An error of PostgreSQL.
    #[error("grant rights to a role")]
    Postgres(#[from] ::postgres::Error),
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its folder cannot be created.
    #[error("create the store at {}", path.display())]
    Create {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// SQLite cannot use the file.
    #[error("open the store at {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is not a store.
    #[error("open the store at {}: the file is not a database of acquit", path.display())]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file or its folder is read-only, but a store must be writable.
    #[error("open the store at {}: the file or its folder is read-only", path.display())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another process keeps the file locked.
    #[error("open the store at {}: another process keeps it locked", path.display())]
    Locked {
        /// Path of the file.
        path: PathBuf,
    },
    /// This program was built with a version of SQLite that can damage files.
    #[error("use SQLite {found}: it must be {needed} or newer")]
    OldSqlite {
        /// Linked version.
        found: &'static str,
        /// Required version.
        needed: &'static str,
    },
    /// The URL of the server is invalid.
    #[error("understand the address of the PostgreSQL server")]
    Address(#[source] ::postgres::Error),
    /// The TLS parameters of the URL cannot be used.
    #[error("connect to PostgreSQL with TLS")]
    Tls(#[source] TlsError),
    /// The connection to the server failed.
    #[error("connect to PostgreSQL at {server}")]
    Connect {
        /// Address without user and password.
        server: String,
        /// Error of the driver.
        #[source]
        source: ::postgres::Error,
    },
    /// A pooler in between gives the server's processes to others between two transactions.
    #[error("connect to PostgreSQL at {server}: {pooled}", pooled = postgres::connect::Pooled)]
    Pooled {
        /// Address without user and password.
        server: String,
    },
    /// The tables must be created or migrated, and the role in the URL may not do that.
    #[error(
        "open the store at {server}: its tables are of another version, and this database role may not change them"
    )]
    Rights {
        /// Address without user and password.
        server: String,
        /// Error of the driver.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store was moved to another place.
    #[error("open the store at {location}: it has moved to {place}")]
    Moved {
        /// Old location.
        location: String,
        /// New location, without user and password.
        place: String,
    },
    /// The store exists, but cannot be used as it is.
    #[error("use the store")]
    Store(#[from] Error),
}

impl OpenError {
    /// Returns why the disk took no data, if the database says so. An error of the system is among the causes.
    pub fn disk(&self) -> Option<Disk> {
        match self {
            Self::ReadOnly { .. } => Some(Disk::ReadOnly),
            Self::File { source, .. } => tx_error::of_sqlite(source),
            Self::Store(error) => error.disk(),
            Self::Create { .. }
            | Self::NotAStore { .. }
            | Self::Locked { .. }
            | Self::OldSqlite { .. }
            | Self::Address(_)
            | Self::Tls(_)
            | Self::Connect { .. }
            | Self::Pooled { .. }
            | Self::Rights { .. }
            | Self::Moved { .. } => None,
        }
    }
}
