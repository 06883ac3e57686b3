//! Opens the file: creates it for its owner only, checks and migrates it.

use std::cell::Cell;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, TransactionBehavior};

use crate::{OpenError, migrate};

/// How long a writer waits for others. Each write takes a few milliseconds, so this is far more than a queue of a
/// thousand writers needs. Only a process that was stopped in the middle of a write makes others wait this long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a waiting writer retries. SQLite's own handler waits longer with every attempt, up to 100 ms, so the
/// longest-waiting writers would come last. With a constant interval all have the same chance.
const TRY_EVERY: Duration = Duration::from_millis(1);

/// Page cache per connection: enough for the few pages that a leg's transactions touch.
const CACHE_KIB: u32 = 512;

/// Number of prepared statements to cache: more than the store has.
const STATEMENTS: usize = 64;

/// Oldest supported version. Older ones can damage a file in WAL mode when two connections checkpoint at the same time.
const OLDEST: (i32, &str) = (3_051_003, "3.51.3");

/// Migrations. Never change one, only add new ones.
pub(super) const STEPS: &[&str] = &[
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

/// Opens the file. Creates or migrates it if needed.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    if rusqlite::version_number() < OLDEST.0 {
        return Err(OpenError::OldSqlite { found: rusqlite::version(), needed: OLDEST.1 });
    }
    let create = |source| OpenError::Create { path: path.to_owned(), source };
    // Make the path absolute, because SQLite would read a relative name such as `file:x` as a URI.
    let path = &std::path::absolute(path).map_err(create)?;
    let bad = |error| explain(path, error);
    let mut connection = match connect(path) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            make(path)?;
            connect(path).map_err(bad)?
        }
        other => other.map_err(bad)?,
    };
    if connection.is_readonly(MAIN_DB).map_err(bad)? {
        return Err(OpenError::ReadOnly { path: path.clone() });
    }
    const VERSION: &str =
        "select version, exists (select 1 from sqlite_schema where name = 'moved') from meta";
    let version = match connection.query_row(VERSION, [], |row| Ok((row.get(0)?, row.get(1)?))) {
        Ok((version, false)) => version,
        Ok((_, true)) => {
            let place = connection.query_row("select place from moved", [], |row| row.get(0)).map_err(bad)?;
            return Err(OpenError::Moved { location: path.display().to_string(), place });
        }
        // There is no such table. Any other cause shows in the migration.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => 0,
        Err(error) => return Err(bad(error)),
    };
    if migrate::next(version, STEPS)?.is_some() {
        bring_forward(&mut connection, path)?;
    }
    Ok(connection)
}

/// Returns the problems SQLite finds in the file: pages, indexes, constraints and references.
pub(crate) fn integrity(path: &Path) -> Result<Vec<String>, OpenError> {
    let connection = open(path)?;
    let problems = || -> rusqlite::Result<Vec<String>> {
        let mut check = connection.prepare("pragma integrity_check")?;
        let mut found: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        found.retain(|line| line != "ok");
        let mut references = connection.prepare("pragma foreign_key_check")?;
        let broken = references.query_map([], |row| {
            Ok(format!(
                "a row of {} refers to a row of {} that is missing",
                row.get::<_, String>(0)?,
                row.get::<_, String>(2)?
            ))
        })?;
        found.extend(broken.collect::<Result<Vec<_>, _>>()?);
        Ok(found)
    };
    problems().map_err(|error| explain(path, error))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(try_again))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch(&format!(
        "pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -{CACHE_KIB};"
    ))?;
    Ok(connection)
}

/// Returns whether a writer retries after this many attempts. Measures time instead of counting attempts: on a busy
/// machine a sleep of 1 ms takes much longer, so the total wait would have no known limit.
#[expect(
    clippy::disallowed_methods,
    reason = "SQLite tells nobody when a lock is free: one has to try again"
)]
fn try_again(tries: i32) -> bool {
    thread_local! {
        static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    if tries == 0 {
        BEGAN.set(Some(Instant::now()));
    }
    let waits = BEGAN.get().is_none_or(|began| began.elapsed() < BUSY_TIMEOUT);
    if waits {
        std::thread::sleep(TRY_EVERY);
    }
    waits
}

/// Creates a store that only its owner can read, in a folder with the same access. SQLite gives its side files the same
/// mode.
///
/// The store is created in a temporary folder and appears atomically. Otherwise, processes that create the same store
/// at the same time would see a half-created file, for which SQLite immediately rejects some of them as locked or
/// read-only. One new file is linked and becomes the store; the others are dropped.
fn make(path: &Path) -> Result<(), OpenError> {
    let create = |source| OpenError::Create { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(create)?;
    let aside = Aside::new(folder).map_err(create)?;
    let new = aside.0.join("store.db");
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).map_err(create)?;
    let mut connection = connect(&new).map_err(|error| explain(path, error))?;
    bring_forward(&mut connection, path)?;
    // Closing the last connection merges everything into the one file.
    connection.close().map_err(|(_, error)| explain(path, error))?;
    match std::fs::hard_link(&new, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match std::fs::metadata(path) {
            Ok(found) if found.is_file() => Ok(()),
            Ok(_) => Err(create(io::ErrorKind::IsADirectory.into())),
            Err(error) => Err(create(error)),
        },
        // A file system without hard links gets an empty file, which is filled in place.
        Err(_) => {
            let empty = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
            empty.map(drop).map_err(create)
        }
    }
}

/// A temporary folder for a new store, removed on drop. One left by a killed process is small and harmless.
struct Aside(PathBuf);

impl Aside {
    fn new(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".new-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bring_forward(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let bad = |error| explain(path, error);
    // Do this outside a transaction, and only after checking that the file is not a foreign database: the mode is
    // stored in the file.
    if look(connection).map_err(bad)? == Found::Empty {
        keep_a_log(connection).map_err(bad)?;
    }
    loop {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(bad)?;
        let version = match look(&transaction).map_err(bad)? {
            Found::Empty => 0,
            Found::Version(version) => version,
            Found::Foreign => return Err(OpenError::NotAStore { path: path.to_owned() }),
        };
        let Some(step) = migrate::next(version, STEPS)? else { return Ok(()) };
        transaction.execute_batch(step).map_err(bad)?;
        transaction.execute("update meta set version = version + 1", []).map_err(bad)?;
        transaction.commit().map_err(bad)?;
    }
}

/// Switches the file to WAL mode. SQLite does not call the busy handler here: if two processes create the same store at
/// the same time, each reads the file while it wants exclusive access, and both are rejected at once.
fn keep_a_log(connection: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && try_again(tries) => {
                tries += 1;
            }
            other => return other,
        }
    }
}

/// Content of a file.
#[derive(PartialEq)]
enum Found {
    /// Nothing yet.
    Empty,
    /// Tables of another program.
    Foreign,
    /// A store of this version.
    Version(i64),
}

fn look(connection: &Connection) -> rusqlite::Result<Found> {
    const TABLES: &str = "select count(*), count(*) filter (where name = 'meta') from sqlite_schema";
    let (all, ours): (i64, i64) = connection.query_row(TABLES, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match (all, ours) {
        (0, _) => Ok(Found::Empty),
        (_, 0) => Ok(Found::Foreign),
        (_, _) => connection.query_row("select version from meta", [], |row| row.get(0).map(Found::Version)),
    }
}

/// Converts an error of SQLite, and explains it where its own message would be unclear.
fn explain(path: &Path, error: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotAStore { path },
        Some(ErrorCode::ReadOnly) => OpenError::ReadOnly { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { path },
        _ => OpenError::File { path, source: error },
    }
}
