//! Why a transaction was rolled back: for a reason that the caller of the store handles, or because of a database
//! error. Only the method that started the transaction knows how to describe the latter.

use acquit_core::store::{Disk, Error};

/// Result of work inside a transaction.
pub(crate) type Result<T> = std::result::Result<T, TxError>;

/// Why the transaction is rolled back.
#[derive(Debug)]
pub(crate) enum TxError {
    /// A reason of our own.
    Store(Error),
    /// Error of the database.
    Database(Box<dyn std::error::Error + Send + Sync>),
}

impl TxError {
    /// Converts it to the error for the caller of the store. `doing` fits after "the database does not".
    pub(crate) fn while_doing(self, doing: &'static str) -> Error {
        match self {
            Self::Store(error) => error,
            Self::Database(source) => match disk(source.as_ref()) {
                Some(Disk::Full) => Error::Full { doing, source },
                Some(Disk::ReadOnly) => Error::ReadOnly { doing, source },
                Some(Disk::Unwritable) | None => Error::Database { doing, source },
            },
        }
    }

    /// Creates the error of a record that cannot be read back.
    pub(crate) fn corrupt(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Store(Error::Corrupt { what: what.into(), source: source.into() })
    }
}

impl From<Error> for TxError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for TxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

impl From<postgres::Error> for TxError {
    fn from(error: postgres::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

/// Returns why the disk of a database takes no data, if that is its error. A server that is read-only may be so for a
/// moment, so that is an outage.
fn disk(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<Disk> {
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return of_sqlite(error);
    }
    let code = error.downcast_ref::<postgres::Error>()?.code()?;
    (*code == postgres::error::SqlState::DISK_FULL).then_some(Disk::Full)
}

/// The same for SQLite.
pub(crate) fn of_sqlite(error: &rusqlite::Error) -> Option<Disk> {
    match error.sqlite_error_code()? {
        rusqlite::ErrorCode::DiskFull => Some(Disk::Full),
        rusqlite::ErrorCode::ReadOnly => Some(Disk::ReadOnly),
        _ => None,
    }
}
