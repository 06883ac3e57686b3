//! Connecting: limits on everything that could hang, the server's time, and the tables.

use std::collections::HashMap;
use std::time::Duration;

use acquit_core::time::Timestamp;
use postgres::{Client, Config, GenericClient, Statement};

use super::tls::{Connector, Parameters};
use crate::clock::{self, Clock};
use crate::location::Address;
use crate::tx_error::TxError;
use crate::{OpenError, migrate};

/// How long a server may take to answer at all. One that is far away needs a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that is silent for so long is tested, and then every [`KEEPALIVE_INTERVAL`].
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);

/// See [`KEEPALIVE_IDLE`].
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// So many tests without an answer, and the connection is dead: half a minute in all, less than a lease.
const KEEPALIVE_RETRIES: u32 = 3;

/// How long the other side may leave what we sent unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a statement may take, waiting for locks included. Ours take milliseconds.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a transaction may stand idle. A harness that is stopped in the middle of one would keep the lock on the
/// events; the server ends it, and the others go on.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The advisory lock for migrations: any number, as long as it is always the same.
const MIGRATION_LOCK: i64 = 0x6163_7175_6974_0001;

/// The steps that make the tables what they are today. Never changed, only added to.
const STEPS: &[&str] =
    &[include_str!("schema-1.sql"), include_str!("schema-2.sql"), include_str!("schema-3.sql")];

/// A connection with what belongs to it.
pub(super) struct Session {
    pub(super) client: Client,
    /// Statements that this connection has prepared, by their text.
    pub(super) statements: HashMap<&'static str, Statement>,
    /// The server's process, which signs our notifications.
    pub(super) process: i32,
    /// The server's time when this machine had been up for so long; `None` if somebody else sets the time.
    measured: Option<(Timestamp, Duration)>,
    pub(super) listening: Listening,
}

/// Whether a session is told of what others write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    No,
    Yes,
}

impl Session {
    /// Connects, sets the limits, and compares the clocks.
    pub(super) fn begin(server: &Server, clock: &Clock) -> Result<Self, postgres::Error> {
        let mut client = server.connect()?;
        const ABOUT: &str = "select pg_backend_pid(), (extract(epoch from clock_timestamp()) * 1000)::bigint";
        let about = client.prepare(ABOUT)?;
        let asked = clock::up();
        let answer = client.query_one(&about, &[])?;
        let answered = clock::up();
        // The server looked at its clock halfway between question and answer.
        let here = asked + answered.saturating_sub(asked) / 2;
        let measured = match clock {
            Clock::System => Some((Timestamp(answer.get(1)), here)),
            Clock::Set(_) => None,
        };
        let process = answer.get(0);
        Ok(Self { client, statements: HashMap::new(), process, measured, listening: Listening::No })
    }

    /// The moment by the server's clock. Somebody who sets this machine's clock changes nothing, and a machine that slept knows how long.
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
    /// Reads an address and sets the limits of the connection.
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

/// A plain connection, for what is no leg's.
pub(crate) fn client(address: &Address) -> Result<Client, OpenError> {
    let source = |source| OpenError::Connect { server: address.to_string(), source };
    Server::at(address)?.connect().map_err(source)
}

/// Where the store has moved to, if it has.
pub(super) fn moved(client: &mut Client) -> Result<Option<String>, postgres::Error> {
    const THERE: &str =
        "select exists (select from pg_class where relname = 'moved' and pg_table_is_visible(oid))";
    if client.query_one(THERE, &[])?.get(0) {
        return Ok(Some(client.query_one("select place from moved", &[])?.get(0)));
    }
    Ok(None)
}

/// Makes or migrates the tables, if they are not up to date.
pub(super) fn bring_forward(client: &mut Client) -> Result<(), TxError> {
    while migrate::next(version(client)?, STEPS)?.is_some() {
        let mut transaction = client.transaction()?;
        transaction.execute("select pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])?;
        // Again, now that nobody else can be at it.
        if let Some(step) = migrate::next(version(&mut transaction)?, STEPS)? {
            transaction.batch_execute(step)?;
            transaction.execute("update meta set version = version + 1", &[])?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The version of the tables, 0 if there are none.
fn version(client: &mut impl GenericClient) -> Result<i64, postgres::Error> {
    // Asked by name first: inside a transaction, a statement that fails would end it. And asked of the catalogue's rows,
    // because `to_regclass` may answer from before we had the lock.
    const THERE: &str =
        "select exists (select from pg_class where relname = 'meta' and pg_table_is_visible(oid))";
    let there: bool = client.query_one(THERE, &[])?.get(0);
    if !there {
        return Ok(0);
    }
    Ok(client.query_one("select version from meta", &[])?.get(0))
}
