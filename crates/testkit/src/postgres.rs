//! A fresh PostgreSQL database for each test, on the server that [`SERVER`] names.
//!
//! `cargo xtask test` starts a private server and sets the variable. Each database has a unique name, so that tests can
//! run in parallel, and is dropped with its [`Database`], even if clients are still connected.
#![allow(clippy::disallowed_methods, reason = "which server the tests have stands in the environment")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::error::SqlState;
use postgres::{Client, NoTls};

use crate::need;

/// Variable with the server: the URL of one of its databases, as a user who may create others.
pub const SERVER: &str = "ACQUIT_TEST_POSTGRES";

/// Counts the databases of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A database that is dropped with this value.
#[derive(Debug)]
pub struct Database {
    /// URL to connect to.
    pub url: String,
    name: String,
    server: String,
}

impl Database {
    /// Creates a fresh, empty database on the server at this URL.
    pub fn on(server: &str) -> Result<Self, postgres::Error> {
        let mut client = Client::connect(server, NoTls)?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("acquit_test_{}_{number}", std::process::id());
            // Use template0, because it accepts no connections: a template with connections cannot be copied.
            match client.batch_execute(&format!("create database {name} template template0")) {
                Ok(()) => {
                    return Ok(Self { url: with_database(server, &name), name, server: server.to_owned() });
                }
                // Left by a killed process with the same pid, or created by one in another pid namespace.
                Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Database {
    /// Changes rows without going through acquit; returns their number.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn execute(&self, sql: &str) -> u64 {
        let done = Client::connect(&self.url, NoTls).and_then(|mut client| client.execute(sql, &[]));
        done.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }
}

/// Returns the number that a query returns in the database at this URL.
pub fn number(url: &str, sql: &str) -> Result<i64, postgres::Error> {
    Client::connect(url, NoTls)?.query_one(sql, &[]).map(|row| row.get(0))
}

/// A role without rights, with the same server and database, which is dropped with this value.
#[derive(Debug)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// URL to connect to the database as this role.
    pub url: String,
    owner: String,
}

impl Role {
    /// Creates a role. The server must not require a password for it.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn new(database: &Database) -> Self {
        let name = format!("{}_worker", database.name);
        database.execute(&format!("create role {name} login"));
        let url = with_user(&database.url, &name);
        Self { name, url, owner: database.url.clone() }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        if let Ok(mut client) = Client::connect(&self.owner, NoTls) {
            let name = &self.name;
            let end =
                format!("select pg_terminate_backend(pid) from pg_stat_activity where usename = '{name}'");
            let _ = client.batch_execute(&format!("{end}; drop owned by {name}; drop role {name}"));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A stopped server took its databases along, and a panicking test must not panic again.
        if let Ok(mut client) = Client::connect(&self.server, NoTls) {
            let _ = client.batch_execute(&format!("drop database if exists {} with (force)", self.name));
        }
    }
}

/// Returns the server's URL. Without one, the test fails when strict; otherwise it is skipped with a message.
#[track_caller]
pub fn url_or_skip(reason: &str) -> Option<String> {
    need::or_skip(std::env::var(SERVER).ok(), "a PostgreSQL server (`cargo xtask test` starts one)", reason)
}

/// Creates a fresh database. Without a server it behaves as [`url_or_skip`].
#[track_caller]
pub fn database_or_skip(reason: &str) -> Option<Database> {
    let server = url_or_skip(reason)?;
    Some(Database::on(&server).unwrap_or_else(|error| panic!("failed to create a database: {error:?}")))
}

/// Creates a fresh database.
///
/// # Panics
///
/// If there is no server, strict or not: for tests that called [`url_or_skip`] before.
#[track_caller]
pub fn database() -> Database {
    let server =
        std::env::var(SERVER).unwrap_or_else(|_| panic!("{SERVER} is not set: ask `url_or_skip` first"));
    Database::on(&server).unwrap_or_else(|error| panic!("failed to create a database: {error:?}"))
}

/// Returns the directory with `initdb`, `pg_ctl` and `postgres`. Distributions keep them out of `PATH`, in a
/// directory per version; uses the newest.
pub fn programs() -> Option<PathBuf> {
    const PARENTS: &[(&str, &str, &str)] = &[
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/usr/libexec", "postgresql", ""),
        ("/opt/homebrew/opt", "postgresql@", "bin"),
        ("/usr/local/opt", "postgresql@", "bin"),
    ];
    let complete =
        |dir: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|name| dir.join(name).is_file());
    let in_path = need::find("initdb").and_then(|initdb| {
        // A link in PATH may be alone; the other programs are next to its target.
        let real = initdb.canonicalize().ok()?;
        real.parent().map(PathBuf::from)
    });
    if let Some(dir) = in_path.filter(complete) {
        return Some(dir);
    }
    let mut versions: Vec<(u32, PathBuf)> = PARENTS
        .iter()
        .filter_map(|(parent, prefix, below)| Some((std::fs::read_dir(parent).ok()?, prefix, below)))
        .flat_map(|(entries, prefix, below)| {
            entries.flatten().filter_map(move |entry| {
                let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
                Some((version, entry.path().join(below)))
            })
        })
        .filter(|(_, dir)| complete(dir))
        .collect();
    versions.sort();
    versions.pop().map(|(_, dir)| dir)
}

/// Replaces the database in a URL: the part between the first `/` after the host and the `?`.
fn with_database(url: &str, name: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let host = place.split('/').next().unwrap_or_default();
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{scheme}://{host}/{name}{query}")
}

/// Replaces the user of a URL that names it as a parameter, as those of private servers do.
fn with_user(url: &str, user: &str) -> String {
    let kept = |part: &&str| !part.starts_with("user=");
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let mut query: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).filter(kept).collect();
    let user = format!("user={user}");
    query.push(&user);
    format!("{place}?{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_in_a_url_is_replaced() {
        assert_eq!(
            with_user("postgres:///new?host=/tmp/x&user=a", "b"),
            "postgres:///new?host=/tmp/x&user=b"
        );
        assert_eq!(with_user("postgres:///new", "b"), "postgres:///new?user=b");
    }

    #[test]
    fn the_database_in_a_url_is_replaced() {
        let cases = [
            ("postgres:///postgres?host=/tmp/x&user=a", "postgres:///new?host=/tmp/x&user=a"),
            ("postgres://a:b@localhost:5432/postgres", "postgres://a:b@localhost:5432/new"),
            ("postgresql://localhost", "postgresql://localhost/new"),
        ];
        for (url, expected) in cases {
            assert_eq!(with_database(url, "new"), expected);
        }
    }

    #[test]
    fn databases_are_apart_and_go_away_also_while_in_use() {
        let Some(server) = url_or_skip("databases of their own for tests") else { return };
        let (one, other) = (database(), database());
        let mut client = Client::connect(&one.url, NoTls).expect("a connection");
        client.batch_execute("create table only_here (id int)").expect("a table");
        let mut second = Client::connect(&other.url, NoTls).expect("a connection");
        assert!(second.batch_execute("select * from only_here").is_err(), "databases share a table");

        let url = one.url.clone();
        drop(one);
        assert!(client.batch_execute("select 1").is_err(), "the connection survived its database");
        assert!(Client::connect(&url, NoTls).is_err(), "the database survived its value");
        assert!(Client::connect(&server, NoTls).is_ok(), "the server is gone too");
    }
}
