//! A store on a PostgreSQL server, for many machines.
//!
//! A lock on a task's row serializes its writers. **Events** must become visible in the order of their numbers, because
//! a reader only remembers the last number it saw. But a sequence assigns numbers before their transactions commit, so
//! a reader would skip one that commits late. Therefore every transaction takes the same lock in the statement that
//! appends its events, which is always its last one: numbers are assigned and become visible in the same order. NOTIFY
//! makes the server serialize commits in the same way, so this costs nothing more. A lock leaves no dead rows, unlike a
//! counter row. Reading only what is older than every running transaction would need no lock, but a second number for
//! readers to remember, and a single long transaction would stop all readers.
//!
//! The next call reconnects after a broken connection. Work in progress has then failed, or succeeded without our
//! knowledge: versions, fences and chunk offsets make it safe to repeat.

pub(crate) mod connect;
mod queue;
mod rows;
mod tls;
pub(crate) mod worker_role;

use std::time::{Duration, Instant};

use acquit_core::store;
use acquit_core::time::Timestamp;
use postgres::error::{Severity, SqlState};
use postgres::fallible_iterator::FallibleIterator;

use crate::OpenError;
use crate::clock::Clock;
use crate::location::Address;
use crate::tables::{Backend, Tables};
use crate::tx_error::{Result, TxError};
use connect::{Listening, Pooled, Server, Session};
use rows::Rows;
pub use tls::TlsError;

/// Channel on which writers send the ids of changed tasks.
const CHANNEL: &str = "acquit";

/// A server, and a connection to it.
pub(crate) struct Postgres {
    server: Server,
    clock: Clock,
    /// `None` after the connection broke, until the next call.
    session: Option<Session>,
}

impl Postgres {
    /// Connects, and creates or migrates the tables if needed.
    pub(crate) fn open(address: &Address, clock: Clock) -> std::result::Result<Self, OpenError> {
        let server = Server::at(address)?;
        let source = |source| OpenError::Connect { server: address.to_string(), source };
        let mut session = Session::begin(&server).map_err(|why| why.explain(address))?;
        if let Some(place) = connect::moved(&mut session.client).map_err(source)? {
            return Err(OpenError::Moved { location: address.to_string(), place });
        }
        connect::bring_forward(&mut session.client).map_err(|refusal| match refusal {
            TxError::Database(source) if is_forbidden(source.as_ref()) => {
                OpenError::Rights { server: address.to_string(), source }
            }
            refusal => refusal.while_doing("let its tables be made").into(),
        })?;
        Ok(Self { server, clock, session: Some(session) })
    }

    /// Runs `work` with the session. Reconnects first if the connection broke before.
    fn with<T>(&mut self, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut session = match self.session.take() {
            Some(session) if !session.client.is_closed() => session,
            Some(_) | None => {
                let mut session = Session::begin(&self.server)?;
                connect::check_range(&mut session.client)?;
                session
            }
        };
        let result = work(&mut session).map_err(|refusal| match &refusal {
            TxError::Database(error) if is_of_pooler(error.as_ref()) => TxError::Database(Box::new(Pooled)),
            _ => refusal,
        });
        // The driver notices a broken connection only when it next waits for it, so inspect the error.
        if result.as_ref().err().is_none_or(|refusal| !breaks(refusal)) {
            self.session = Some(session);
        }
        result
    }
}

/// Returns whether the connection is unusable: the driver has lost the server, or the server has ended the session.
fn breaks(refusal: &TxError) -> bool {
    let TxError::Database(error) = refusal else { return false };
    if error.is::<Pooled>() {
        return true;
    }
    error.downcast_ref::<postgres::Error>().is_some_and(|error| {
        error.as_db_error().is_none_or(|words| words.parsed_severity() != Some(Severity::Error))
    })
}

fn is_of_pooler(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<postgres::Error>().is_some_and(connect::is_of_pooler)
}

/// Returns whether the role in use lacks a right.
fn is_forbidden(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let code = error.downcast_ref::<postgres::Error>().and_then(postgres::Error::code);
    code == Some(&SqlState::INSUFFICIENT_PRIVILEGE)
}

/// Waits for changes by others. The first call returns at once, because it is unknown what was written before it.
fn listen(session: &mut Session, at_most: Duration) -> Result<()> {
    let begin = Instant::now();
    if session.listening == Listening::No {
        session.client.batch_execute(&format!("listen {CHANNEL}"))?;
        session.listening = Listening::Yes;
        return Ok(());
    }
    let mut notifications = session.client.notifications();
    loop {
        let left = at_most.saturating_sub(begin.elapsed());
        match notifications.timeout_iter(left).next()? {
            Some(notification) if notification.process_id() == session.process => {}
            Some(_) | None => break,
        }
    }
    // Drain all notifications: one return covers everything that has happened.
    let mut rest = notifications.iter();
    while rest.next()?.is_some() {}
    Ok(())
}

impl Backend for Postgres {
    fn known(&self) -> i64 {
        connect::known()
    }

    fn read<T>(&mut self, looking: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        self.with(|session| {
            looking(&mut Rows { client: &mut session.client, statements: &mut session.statements })
        })
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut dyn Tables) -> Result<T>) -> Result<T> {
        self.with(|session| {
            let mut transaction = session.client.transaction()?;
            let value = change(&mut Rows { client: &mut transaction, statements: &mut session.statements })?;
            transaction.commit()?;
            Ok(value)
        })
    }

    fn now(&mut self) -> Result<Timestamp> {
        match self.clock {
            Clock::System => self.with(|session| Ok(session.now()?)),
            Clock::Set(_) => Ok(self.clock.now()),
        }
    }

    fn wait(&mut self, at_most: Duration) -> store::Result<()> {
        self.with(|session| listen(session, at_most))
            .map_err(|refusal| refusal.while_doing("say whether it has changed"))
    }
}

#[cfg(test)]
mod tests;
