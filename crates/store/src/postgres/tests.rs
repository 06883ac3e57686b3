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
