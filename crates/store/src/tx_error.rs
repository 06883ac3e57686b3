//! Why a transaction was rolled back: for a reason that the caller of the store handles, or because of a database
//! error. Only the method that started the transaction knows how to describe the latter.

use acquit_core::store::Error;

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
            Self::Database(source) if is_full(source.as_ref()) => Error::Full { doing, source },
            Self::Database(source) => Error::Database { doing, source },
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

/// Returns whether a database reports that its disk is full.
fn is_full(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    }
    error
        .downcast_ref::<postgres::Error>()
        .is_some_and(|error| error.code() == Some(&postgres::error::SqlState::DISK_FULL))
}
