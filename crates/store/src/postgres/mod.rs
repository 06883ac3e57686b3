//! A store on a PostgreSQL server, for many machines.
//!
//! Writers of one task come one after the other by a lock on its row. **Events** must be seen in the order of their
//! numbers by a reader that only remembers the last number it saw; but a sequence hands out numbers before their
//! transactions commit, and one that commits late would be skipped. So a transaction takes a lock, the same for all, in
//! the statement that appends its events, always its last one: numbers are given out and become visible in the same
//! order. NOTIFY makes the server line up commits in the same way, so this costs nothing more; a lock rather than a
//! counter row, because it leaves no dead rows. Reading only what is older than every running transaction would need no
//! lock, but also a second number for readers to remember, and one long transaction of anybody would stop all of them.
//!
//! A connection that broke is made anew by the next call. What was under way then has failed, or was done without our
//! hearing of it: versions, fences and chunk offsets make repeating harmless.

mod connect;
mod rows;

use std::time::{Duration, Instant};

use acquit_core::store::{self, Error};
use acquit_core::time::Timestamp;
use postgres::fallible_iterator::FallibleIterator;

use crate::OpenError;
use crate::clock::Clock;
use crate::location::Address;
use crate::refusal::Result;
use crate::tables::{Backend, Tables};
use connect::Session;
use rows::Rows;

/// The channel on which writers tell the ids of tasks about which there is news.
const CHANNEL: &str = "acquit";

/// A server, and a connection to it.
pub(crate) struct Postgres {
    config: postgres::Config,
    clock: Clock,
    session: Session,
    /// Whether this session is told of what others write.
    listening: Listening,
}

#[derive(PartialEq)]
enum Listening {
    No,
    Yes,
}

impl Postgres {
    /// Connects, and makes or migrates the tables where that is needed.
    pub(crate) fn open(address: &Address, clock: Clock) -> std::result::Result<Self, OpenError> {
        let config = connect::configure(address)?;
        let source = |source| OpenError::Connect { server: address.to_string(), source };
        let mut session = Session::begin(&config, &clock).map_err(source)?;
        connect::bring_forward(&mut session.client)
            .map_err(|refusal| refusal.while_doing("let its tables be made"))?;
        Ok(Self { config, clock, session, listening: Listening::No })
    }

    /// The session, made anew if it broke.
    fn session(&mut self) -> std::result::Result<&mut Session, postgres::Error> {
        if self.session.client.is_closed() {
            self.session = Session::begin(&self.config, &self.clock)?;
            self.listening = Listening::No;
        }
        Ok(&mut self.session)
    }

    fn listen(&mut self, at_most: Duration) -> std::result::Result<(), postgres::Error> {
        let begin = Instant::now();
        self.session()?;
        if self.listening == Listening::No {
            self.session.client.batch_execute(&format!("listen {CHANNEL}"))?;
            self.listening = Listening::Yes;
            return Ok(());
        }
        let own = self.session.process;
        let mut notifications = self.session.client.notifications();
        loop {
            let left = at_most.saturating_sub(begin.elapsed());
            match notifications.timeout_iter(left).next()? {
                Some(notification) if notification.process_id() == own => {}
                Some(_) | None => break,
            }
        }
        // One return is for all that has happened.
        let mut rest = notifications.iter();
        while rest.next()?.is_some() {}
        Ok(())
    }
}

impl Backend for Postgres {
    fn read<T>(&mut self, looking: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        let session = self.session()?;
        looking(&mut Rows { client: &mut session.client, statements: &mut session.statements })
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        let session = self.session()?;
        let mut transaction = session.client.transaction()?;
        let value = change(&mut Rows { client: &mut transaction, statements: &mut session.statements })?;
        transaction.commit()?;
        Ok(value)
    }

    fn now(&mut self) -> Result<Timestamp> {
        let clock = self.clock.clone();
        Ok(self.session()?.now(&clock))
    }

    /// The first call returns at once: what was written before it cannot be told from what was not.
    fn wait(&mut self, at_most: Duration) -> store::Result<()> {
        self.listen(at_most)
            .map_err(|error| Error::Database { doing: "say whether it has changed", source: error.into() })
    }
}

#[cfg(test)]
mod tests;
