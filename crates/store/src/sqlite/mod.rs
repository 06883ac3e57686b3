//! A store in one file, for one machine. Every write is an immediate transaction in WAL mode, on disk before it is
//! acknowledged; readers never wait for writers.
//!
//! A harness opens it for every leg, so opening an up-to-date file costs one read, and a connection keeps little in
//! memory.

pub(crate) mod file;
mod queue;
mod rows;

use std::path::Path;
use std::time::{Duration, Instant};

use acquit_core::store::{self, Error};
use acquit_core::time::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

use crate::OpenError;
use crate::clock::Clock;
use crate::tables::{Backend, Tables};
use crate::tx_error::Result;
use rows::Rows;

/// How often a waiting reader asks whether the file has changed. It is asked in memory that all connections share, which
/// costs microseconds; a person does not see a delay of this length.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How rarely, after a while of nothing: a daemon waits all day, and need not wake up fifty times a second for it.
const LOOK_RARELY: Duration = Duration::from_millis(200);

/// An open file.
pub(crate) struct Sqlite {
    connection: Connection,
    clock: Clock,
    /// The file's change counter when [`Backend::wait`] last returned.
    seen: Option<i64>,
}

impl Sqlite {
    /// Opens the file, making or migrating it where that is needed.
    pub(crate) fn open(path: &Path, clock: Clock) -> std::result::Result<Self, OpenError> {
        Ok(Self { connection: file::open(path)?, clock, seen: None })
    }

    fn data_version(&self) -> store::Result<i64> {
        let query = self.connection.prepare_cached("pragma data_version");
        query
            .and_then(|mut query| query.query_row([], |row| row.get(0)))
            .map_err(|error| Error::Database { doing: "say whether it has changed", source: error.into() })
    }
}

impl Backend for Sqlite {
    fn read<T>(&mut self, looking: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        looking(&mut Rows(&self.connection))
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = change(&mut Rows(&transaction))?;
        transaction.commit()?;
        Ok(value)
    }

    fn now(&mut self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    /// The first call returns at once: what was written before it cannot be told from what was not.
    #[expect(clippy::disallowed_methods, reason = "SQLite tells nobody of a change: one has to look again")]
    fn wait(&mut self, at_most: Duration) -> store::Result<()> {
        let begin = Instant::now();
        loop {
            let version = self.data_version()?;
            let left = at_most.saturating_sub(begin.elapsed());
            if self.seen != Some(version) || left.is_zero() {
                self.seen = Some(version);
                return Ok(());
            }
            let pause = (begin.elapsed() / 4).clamp(LOOK_EVERY, LOOK_RARELY);
            std::thread::sleep(left.min(pause));
        }
    }
}

#[cfg(test)]
mod tests;
