//! From one agent's exit to the next agent's exec, beside the least that it can cost: two plain spawns and three
//! durable commits.

use std::path::Path;

use rusqlite::Connection;

use super::measure::{Cost, Quantity, Row, cost, in_turns};
use crate::{Stop, shell};

/// Ours may take this many times the limit.
const TARGET: f64 = 1.5;
/// Handoffs in one round: a single one is too short to measure.
const HANDOFFS: u32 = 50;
/// Commits in one handoff: the leg's end, the claim of the next, its start.
const COMMITS: usize = 3;
/// About what a leg's end writes.
const BODY: usize = 700;

pub(super) fn run(_acquit: &Path, dir: &Path) -> Result<Vec<Row>, Stop> {
    let connection = database(&dir.join("limit.db")).map_err(Stop::doing("open a database"))?;
    let [limit] = in_turns([&mut || plain(&connection)])?.map(|cost| cost.per(HANDOFFS));
    let row = |what: &str, limit| Row {
        thing: format!("handoff, {what}"),
        ours: None,
        limit: Quantity::Time(limit),
        target: TARGET,
    };
    Ok(vec![row("wall", limit.wall), row("CPU", limit.cpu)])
}

/// A database with the store's own durability: write-ahead log, every commit synced.
pub(super) fn database(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "pragma journal_mode = wal; pragma synchronous = full; create table entry (id integer primary key, body text)",
    )?;
    Ok(connection)
}

/// [`HANDOFFS`] times: spawn and wait, three commits, spawn and wait.
pub(super) fn plain(connection: &Connection) -> Result<Cost, Stop> {
    let body = "x".repeat(BODY);
    let spawn = || shell::succeeds(&mut shell::program("true"));
    let work = || {
        for _ in 0..HANDOFFS {
            spawn()?;
            for _ in 0..COMMITS {
                connection
                    .execute("insert into entry (body) values (?1)", [&body])
                    .map_err(Stop::doing("commit to a database"))?;
            }
            spawn()?;
        }
        Ok(())
    };
    Ok(cost(work)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_commits_durably_three_times_per_handoff() {
        let dir = tempfile::tempdir().expect("a folder");
        let connection = database(&dir.path().join("a.db")).expect("a database");
        let full: i64 = connection.query_row("pragma synchronous", [], |row| row.get(0)).expect("a setting");
        assert_eq!(full, 2, "synchronous = full");
        plain(&connection).expect("handoffs");
        let rows: i64 =
            connection.query_row("select count(*) from entry", [], |row| row.get(0)).expect("rows");
        assert_eq!(rows, i64::from(HANDOFFS) * 3);
    }
}
