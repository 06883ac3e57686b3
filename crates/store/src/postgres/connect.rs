//! Connects to the server: sets timeouts for everything that could hang, determines the server's time, refuses poolers that
//! share its processes, and migrates the tables.

use std::collections::HashMap;
use std::time::Duration;

use acquit_core::time::Timestamp;
use postgres::error::SqlState;
use postgres::{Client, Config, GenericClient, SimpleQueryMessage, Statement};

use super::tls::{Connector, Parameters};
use crate::clock;
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
    include_str!("schema-5.sql"),
];

/// Returns the newest version of the tables that this program knows.
pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// How many versions newer the tables may be while this program finishes what it runs. Each step so far only adds, so
/// that a program of the version before can still renew a lease and hand over.
const NEWER: i64 = 1;

/// How long a measurement of the server's clock counts: less than the time between two renewals of a lease, so that each
/// renewal uses a fresh one.
const MEASURED: Duration = Duration::from_secs(20);

/// How much older than its connection a server process may look. Clocks of two machines run at almost the same speed.
const SLACK: Duration = Duration::from_millis(200);

/// Time after which a pooler that did not begin a transaction had no process left for it.
const NONE_LEFT: Duration = Duration::from_secs(5);

/// The server's time, its process that serves us, the age of that process, and whether it was started for us: a pooler sets
/// the name of the application later.
const ABOUT: &str = "select (extract(epoch from clock_timestamp()) * 1000)::bigint, pid,
     (extract(epoch from clock_timestamp() - backend_start) * 1000)::bigint,
     (select (source = 'client')::int from pg_settings where name = 'application_name')
     from pg_stat_get_activity(pg_backend_pid())";

/// A connection with its state.
pub(super) struct Session {
    pub(super) client: Client,
    /// Prepared statements of this connection, by their text.
    pub(super) statements: HashMap<&'static str, Statement>,
    /// Process id of the server's backend, which identifies our own notifications.
    pub(super) process: i32,
    /// Server's time, and the uptime of this machine when it was measured.
    pub(super) measured: (Timestamp, Duration),
    pub(super) listening: Listening,
}

/// Whether a session is notified of writes by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    No,
    Yes,
}

/// Why there is no session.
#[derive(Debug)]
pub(super) enum NoSession {
    /// An error of the driver or of the server.
    Driver(postgres::Error),
    /// A pooler gives the server's processes to others between two transactions.
    Pooled,
}

impl From<postgres::Error> for NoSession {
    fn from(error: postgres::Error) -> Self {
        if is_of_pooler(&error) { Self::Pooled } else { Self::Driver(error) }
    }
}

/// The connection goes through a pooler that gives the server's processes to others between two transactions.
#[derive(Debug, thiserror::Error)]
#[error(
    "a pooler in transaction mode is in between: acquit needs its session mode, or the address of the server itself"
)]
pub(crate) struct Pooled;

/// Returns whether an error shows that somebody else uses our process of the server: what we prepared is gone, or what
/// others prepared is there.
pub(super) fn is_of_pooler(error: &postgres::Error) -> bool {
    let codes = [SqlState::DUPLICATE_PSTATEMENT, SqlState::INVALID_SQL_STATEMENT_NAME];
    error.code().is_some_and(|code| codes.contains(code))
}

/// What a server says about itself and its process.
struct About {
    time: Timestamp,
    process: i32,
    age: Duration,
    /// Whether it was started with our parameters.
    is_ours: bool,
    /// Uptime of this machine when the server said it.
    here: Duration,
}

impl About {
    /// Asks the server. Uses no prepared statement: a pooler may lose it.
    fn ask(client: &mut Client) -> Result<Self, NoSession> {
        let asked = clock::up();
        let answer = client.simple_query(ABOUT)?;
        let answered = clock::up();
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let number = |at: usize| -> i64 {
            row.and_then(|row| row.try_get(at).ok().flatten()?.parse().ok()).unwrap_or_default()
        };
        Ok(Self {
            time: Timestamp(number(0)),
            process: i32::try_from(number(1)).unwrap_or_default(),
            age: Duration::from_millis(u64::try_from(number(2)).unwrap_or_default()),
            is_ours: number(3) == 1,
            // Assume that the server read its clock halfway between request and response.
            here: asked + answered.saturating_sub(asked) / 2,
        })
    }
}

impl Session {
    /// Connects, sets the timeouts, and compares the clocks. Refuses a pooler in transaction mode: leases, timeouts and
    /// wake-ups need a process of the server for as long as the connection lasts.
    pub(super) fn begin(server: &Server) -> Result<Self, NoSession> {
        let begun = clock::up();
        let mut client = server.plain()?;
        let about = About::ask(&mut client)?;
        // A process that is older than the connection, or that was started without our parameters, comes from a pooler.
        let is_pooled = !about.is_ours || about.age > about.here.saturating_sub(begun) + SLACK;
        if is_pooled && is_shared(server, &mut client, about.process)? {
            return Err(NoSession::Pooled);
        }
        set_timeouts(&mut client)?;
        let (process, measured) = (about.process, (about.time, about.here));
        Ok(Self { client, statements: HashMap::new(), process, measured, listening: Listening::No })
    }

    /// Returns the current time of the server's clock. Is not affected by changes of this machine's clock, and counts
    /// the time this machine slept. Asks the server regularly: its clock may be set, and one that was paused with its
    /// machine stands still meanwhile, as may the uptime of this one.
    pub(super) fn now(&mut self) -> Result<Timestamp, NoSession> {
        let (_, here) = self.measured;
        if clock::up().saturating_sub(here) > MEASURED {
            let about = About::ask(&mut self.client)?;
            if about.process != self.process {
                return Err(NoSession::Pooled);
            }
            self.measured = (about.time, about.here);
        }
        let (there, here) = self.measured;
        Ok(there.plus(clock::up().saturating_sub(here)))
    }
}

/// Returns whether another connection is served by our process of the server while we do nothing, or takes it away.
fn is_shared(server: &Server, client: &mut Client, process: i32) -> Result<bool, NoSession> {
    // In session mode, there may be no process left for it.
    let Ok(mut other) = server.plain() else { return Ok(false) };
    let asked = clock::up();
    if other.batch_execute("begin").is_err() {
        // A pooler that refuses transactions shares even more. One that has no process left answers late.
        return Ok(clock::up().saturating_sub(asked) < NONE_LEFT);
    }
    let Ok(theirs) = About::ask(&mut other) else { return Ok(false) };
    // Their transaction still holds their process.
    let ours = About::ask(client)?;
    // A pooler ends the process of a client that leaves in the middle of a transaction.
    let _ = other.batch_execute("rollback");
    Ok(theirs.process == process || ours.process != process)
}

fn set_timeouts(client: &mut Client) -> Result<(), postgres::Error> {
    client.batch_execute(&format!(
        "set statement_timeout = {}; set idle_in_transaction_session_timeout = {}",
        STATEMENT_TIMEOUT.as_millis(),
        IDLE_TIMEOUT.as_millis()
    ))
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

    fn plain(&self) -> Result<Client, postgres::Error> {
        self.config.connect(self.tls.clone())
    }
}

/// Opens a plain connection, for work outside of legs.
pub(crate) fn client(address: &Address) -> Result<Client, OpenError> {
    let session = Session::begin(&Server::at(address)?).map_err(|why| why.explain(address))?;
    Ok(session.client)
}

impl NoSession {
    /// Returns the error of a store that cannot be opened.
    pub(super) fn explain(self, address: &Address) -> OpenError {
        let server = address.to_string();
        match self {
            Self::Driver(source) => OpenError::Connect { server, source },
            Self::Pooled => OpenError::Pooled { server },
        }
    }
}

impl From<NoSession> for TxError {
    fn from(why: NoSession) -> Self {
        match why {
            NoSession::Driver(error) => error.into(),
            NoSession::Pooled => Self::Database(Box::new(Pooled)),
        }
    }
}

/// Checks that the tables are of a version with which this program may finish what it runs.
pub(super) fn check_range(client: &mut Client) -> Result<(), TxError> {
    let found = version(client)?;
    if found > known() + NEWER {
        return Err(acquit_core::store::Error::Newer { found, known: known() }.into());
    }
    Ok(())
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
