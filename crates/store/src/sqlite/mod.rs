//! A store in one file, for one machine. Every write is an immediate transaction in WAL mode, on disk before it is
//! acknowledged. Readers never wait for writers.
//!
//! A harness opens the store for every leg, so opening an up-to-date file costs one read, and a connection uses little
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

/// Interval at which a waiting reader checks whether the file has changed. The check reads memory shared by all
/// connections, which costs microseconds. A person does not notice a delay of this length.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Interval after a while without changes: a daemon waits all day and need not wake up fifty times a second.
const LOOK_RARELY: Duration = Duration::from_millis(200);

/// An open file.
pub(crate) struct Sqlite {
    connection: Connection,
    clock: Clock,
    /// Change counter of the file when [`Backend::wait`] last returned.
    seen: Option<i64>,
}

impl Sqlite {
    /// Opens the file. Creates or migrates it if needed.
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
    fn known(&self) -> i64 {
        file::known()
    }

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

    /// Waits for a change. The first call returns at once, because it is unknown what was written before it.
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
