//! Tests specific to PostgreSQL: unreachable servers and broken connections.

use acquit_core::store::Store;
use acquit_testkit::postgres::database_or_skip;

use super::*;
use crate::Location;
use crate::database::Database;

fn open(url: &str) -> std::result::Result<Database<Postgres>, OpenError> {
    let Location::Postgres(address) = Location::parse(url) else { panic!("{url} is not a server") };
    Postgres::open(&address, Clock::System).map(Database)
}

#[test]
fn a_server_that_is_not_there_is_told_without_the_password() {
    let Some(OpenError::Connect { server, .. }) = open("postgres://me:hunter2@127.0.0.1:1/db").err() else {
        panic!("nobody listens there")
    };
    assert_eq!(server, "postgres://127.0.0.1/db");
    assert!(matches!(open("postgres://h:port/db").err(), Some(OpenError::Address(_))));
}

#[test]
fn a_broken_connection_fails_one_call_and_is_made_anew() {
    let Some(database) = database_or_skip("connections that break") else { return };
    let mut store = open(&database.url).expect("a store");
    let first = store.reserve().expect("an id");
    let mut other = postgres::Client::connect(&database.url, postgres::NoTls).expect("a connection");
    let end = "select pg_terminate_backend($1)";
    other
        .execute(end, &[&store.0.session.as_ref().expect("a session").process])
        .expect("the connection's end");
    assert!(store.reserve().is_err(), "what is under way when it breaks has failed");
    assert!(store.reserve().expect("an id") > first);
    store.wait(Duration::ZERO).expect("it listens again");
}

#[test]
fn a_jump_of_the_servers_clock_is_followed() {
    let Some(database) = database_or_skip("a clock that jumps") else { return };
    // The function of this name that comes first is the server's clock.
    let setup =
        "create schema fake; create table fake.jump (by interval); insert into fake.jump values ('0 s');
        create function fake.clock_timestamp() returns timestamptz volatile language sql
            as 'select pg_catalog.clock_timestamp() + by from fake.jump';";
    let mut other = postgres::Client::connect(&database.url, postgres::NoTls).expect("a connection");
    other.batch_execute(setup).expect("a clock");
    let name: String = other.query_one("select current_database()::text", &[]).expect("its name").get(0);
    other
        .batch_execute(&format!("alter database {name} set search_path = public, fake, pg_catalog"))
        .expect("a path");
    let mut store = open(&database.url).expect("a store");
    let begun = store.now().expect("a time");
    for (jump, minutes) in [("10 min", 10), ("-20 min", -20)] {
        other.execute(&format!("update fake.jump set by = '{jump}'"), &[]).expect("a jump");
        // As if the session had measured some time ago.
        let session = store.0.session.as_mut().expect("a session");
        session.measured.1 = session.measured.1.saturating_sub(Duration::from_secs(21));
        session.measured.0 = Timestamp(session.measured.0.0 - 21_000);
        let moved = store.now().expect("a time").0 - begun.0;
        assert!((moved - minutes * 60_000).abs() < 30_000, "{moved} ms");
    }
}

#[test]
fn a_program_that_is_two_versions_behind_is_refused_when_it_connects_again() {
    let Some(database) = database_or_skip("versions") else { return };
    let mut store = open(&database.url).expect("a store");
    let breaks = |store: &mut Database<Postgres>| {
        let mut other = postgres::Client::connect(&database.url, postgres::NoTls).expect("a connection");
        let process = store.0.session.as_ref().expect("a session").process;
        other.execute("select pg_terminate_backend($1)", &[&process]).expect("its end");
        assert!(store.reserve().is_err());
    };
    database.execute("update meta set version = version + 1");
    breaks(&mut store);
    store.reserve().expect("one version is in the range");
    database.execute("update meta set version = version + 1");
    breaks(&mut store);
    let refused = store.reserve();
    assert!(matches!(refused, Err(store::Error::Newer { .. })), "{refused:?}");
}

/// A pooler before the server, with one process of the server for all of its clients.
struct Pooler {
    child: std::process::Child,
    folder: tempfile::TempDir,
    url: String,
}

impl Pooler {
    #[allow(
        clippy::disallowed_methods,
        reason = "tests start a real pooler, and look again until it answers"
    )]
    fn start(program: &std::path::Path, database: &str, mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config: postgres::Config = database.parse().expect("a URL");
        let place = |host: &postgres::config::Host| match host {
            postgres::config::Host::Tcp(name) => name.clone(),
            postgres::config::Host::Unix(path) => path.display().to_string(),
        };
        let host = config.get_hosts().first().map(place).expect("a host");
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let user = config.get_user().unwrap_or("postgres");
        let name = config.get_dbname().expect("a database");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = free.local_addr().expect("an address").port();
        drop(free);
        let password = config.get_password().map(|it| String::from_utf8_lossy(it).into_owned());
        let password = password.map(|it| format!(" password={it}")).unwrap_or_default();
        let text = format!(
            "[databases]\n{name} = host={host} port={port} dbname={name} user={user}{password}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {own}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\ndefault_pool_size = 5\nlogfile = {0}/log\npidfile = {0}/pid\n",
            folder.path().display()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, text).expect("a configuration");
        // It refuses to run as root.
        let mut command = std::process::Command::new(program);
        if rustix::process::geteuid().is_root() {
            use std::os::unix::fs::PermissionsExt;
            use std::os::unix::process::CommandExt;
            let open = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(folder.path(), open).expect("its rights");
            command.uid(65_534).gid(65_534);
        }
        let child = command.arg("-q").arg(&file).spawn().expect("a pooler");
        let url = format!("postgres://{user}@127.0.0.1:{own}/{name}");
        let pooler = Self { child, folder, url };
        let begun = Instant::now();
        while postgres::Client::connect(&pooler.url, postgres::NoTls).is_err() {
            let log = || std::fs::read_to_string(pooler.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(20), "{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pooler_is_refused_in_transaction_mode_and_used_in_session_mode() {
    let Some(database) = database_or_skip("a pooler") else { return };
    let Some(program) = acquit_testkit::need::program("pgbouncer", "a pooler") else { return };
    // The tables are there, so that only the pooler can be a reason.
    open(&database.url).expect("a store");
    for mode in ["session", "transaction", "statement"] {
        let pooler = Pooler::start(&program, &database.url, mode);
        // The first finds a process of the server that was started for it, the others one that others have used.
        let mut seen = Vec::new();
        for _ in 0..3 {
            let opened = open(&pooler.url);
            seen.push(matches!(opened.as_ref().err(), Some(OpenError::Pooled { .. })));
            if let Ok(mut store) = opened {
                store.reserve().expect("it can be used");
            }
        }
        assert_eq!(seen.iter().all(|refused| *refused), mode != "session", "{mode}: {seen:?}");
        if mode == "session" {
            assert!(seen.iter().all(|refused| !refused), "{seen:?}");
        }
    }
}
