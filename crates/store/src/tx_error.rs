//! Why a transaction was given up: for a reason that the store's user acts on, or because the database said no. Which
//! words belong to the latter is known only to the method that began the transaction.

use acquit_core::store::Error;

/// The result of work inside a transaction.
pub(crate) type Result<T> = std::result::Result<T, TxError>;

/// Why the transaction is rolled back.
#[derive(Debug)]
pub(crate) enum TxError {
    /// A reason of our own.
    Store(Error),
    /// The database's own words.
    Database(Box<dyn std::error::Error + Send + Sync>),
}

impl TxError {
    /// What the store's user gets. `doing` fits after "the database does not".
    pub(crate) fn while_doing(self, doing: &'static str) -> Error {
        match self {
            Self::Store(error) => error,
            Self::Database(source) if is_full(source.as_ref()) => Error::Full { doing, source },
            Self::Database(source) => Error::Database { doing, source },
        }
    }

    /// A record that cannot be read back.
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

/// Whether a database says that its disk is full.
fn is_full(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    }
    error
        .downcast_ref::<postgres::Error>()
        .is_some_and(|error| error.code() == Some(&postgres::error::SqlState::DISK_FULL))
}
