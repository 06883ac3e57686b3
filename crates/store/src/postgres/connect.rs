//! Connects to the server: sets timeouts for everything that could hang, determines the server's time, and migrates the
//! tables.

use std::collections::HashMap;
use std::time::Duration;

use acquit_core::time::Timestamp;
use postgres::{Client, Config, GenericClient, Statement};

use super::tls::{Connector, Parameters};
use crate::clock::{self, Clock};
use crate::location::Address;
use crate::tx_error::TxError;
use crate::{OpenError, migrate};

/// Timeout of the connection. A distant server needs a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that is idle for this long is probed, and then every [`KEEPALIVE_INTERVAL`].
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);

/// See [`KEEPALIVE_IDLE`].
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// Number of unanswered probes after which the connection is dead: half a minute in total, less than a lease.
const KEEPALIVE_RETRIES: u32 = 3;

/// Maximum time that the peer may leave sent data unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout of a statement, including waits for locks. Ours take milliseconds.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout of an idle transaction. A harness that is stopped in the middle of one would keep the lock on the events.
/// The server ends it, so that others can continue.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Advisory lock for migrations. The number is arbitrary, but always the same.
const MIGRATION_LOCK: i64 = 0x6163_7175_6974_0001;

/// Migrations. Never change one, only add new ones.
const STEPS: &[&str] = &[
    include_str!("schema-1.sql"),
    include_str!("schema-2.sql"),
    include_str!("schema-3.sql"),
    include_str!("schema-4.sql"),
];

/// A connection with its state.
pub(super) struct Session {
    pub(super) client: Client,
    /// Prepared statements of this connection, by their text.
    pub(super) statements: HashMap<&'static str, Statement>,
    /// Process id of the server's backend, which identifies our own notifications.
    pub(super) process: i32,
    /// Server's time, and the uptime of this machine when it was measured. `None` if the time is set from outside.
    measured: Option<(Timestamp, Duration)>,
    pub(super) listening: Listening,
}

/// Whether a session is notified of writes by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    No,
    Yes,
}

impl Session {
    /// Connects, sets the timeouts, and compares the clocks.
    pub(super) fn begin(server: &Server, clock: &Clock) -> Result<Self, postgres::Error> {
        let mut client = server.connect()?;
        const ABOUT: &str = "select pg_backend_pid(), (extract(epoch from clock_timestamp()) * 1000)::bigint";
        let about = client.prepare(ABOUT)?;
        let asked = clock::up();
        let answer = client.query_one(&about, &[])?;
        let answered = clock::up();
        // Assume that the server read its clock halfway between request and response.
        let here = asked + answered.saturating_sub(asked) / 2;
        let measured = match clock {
            Clock::System => Some((Timestamp(answer.get(1)), here)),
            Clock::Set(_) => None,
        };
        let process = answer.get(0);
        Ok(Self { client, statements: HashMap::new(), process, measured, listening: Listening::No })
    }

    /// Returns the current time of the server's clock. Is not affected by changes of this machine's clock, and counts
    /// the time this machine slept.
    pub(super) fn now(&self, clock: &Clock) -> Timestamp {
        match self.measured {
            Some((there, here)) => there.plus(clock::up().saturating_sub(here)),
            None => clock.now(),
        }
    }
}

/// How to connect to a server.
pub(crate) struct Server {
    config: Config,
    tls: Connector,
}

impl Server {
    /// Parses a URL and sets the timeouts of the connection.
    pub(super) fn at(address: &Address) -> Result<Self, OpenError> {
        let parameters = Parameters::of(address.url());
        let mut config: Config = parameters.url.parse().map_err(OpenError::Address)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config
            .application_name("acquit")
            .tcp_user_timeout(TCP_USER_TIMEOUT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES);
        Ok(Self { config, tls: parameters.connector().map_err(OpenError::Tls)? })
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        let mut client = self.config.connect(self.tls.clone())?;
        client.batch_execute(&format!(
            "set statement_timeout = {}; set idle_in_transaction_session_timeout = {}",
            STATEMENT_TIMEOUT.as_millis(),
            IDLE_TIMEOUT.as_millis()
        ))?;
        Ok(client)
    }
}

/// Opens a plain connection, for work outside of legs.
pub(crate) fn client(address: &Address) -> Result<Client, OpenError> {
    let source = |source| OpenError::Connect { server: address.to_string(), source };
    Server::at(address)?.connect().map_err(source)
}

/// Returns where the store has moved to, if it has.
pub(super) fn moved(client: &mut Client) -> Result<Option<String>, postgres::Error> {
    const THERE: &str =
        "select exists (select from pg_class where relname = 'moved' and pg_table_is_visible(oid))";
    if client.query_one(THERE, &[])?.get(0) {
        return Ok(Some(client.query_one("select place from moved", &[])?.get(0)));
    }
    Ok(None)
}

/// Creates or migrates the tables, if they are not up to date.
pub(super) fn bring_forward(client: &mut Client) -> Result<(), TxError> {
    while migrate::next(version(client)?, STEPS)?.is_some() {
        let mut transaction = client.transaction()?;
        transaction.execute("select pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])?;
        // Check again under the lock.
        if let Some(step) = migrate::next(version(&mut transaction)?, STEPS)? {
            transaction.batch_execute(step)?;
            transaction.execute("update meta set version = version + 1", &[])?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Returns the version of the tables; 0 if there are none.
fn version(client: &mut impl GenericClient) -> Result<i64, postgres::Error> {
    // Check by name first, because a failed statement would abort a transaction. Query the rows of the catalog, because
    // `to_regclass` may return a result from before we had the lock.
    const THERE: &str =
        "select exists (select from pg_class where relname = 'meta' and pg_table_is_visible(oid))";
    let there: bool = client.query_one(THERE, &[])?.get(0);
    if !there {
        return Ok(0);
    }
    Ok(client.query_one("select version from meta", &[])?.get(0))
}
