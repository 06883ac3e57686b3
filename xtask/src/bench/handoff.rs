//! Time from one agent's exit to the next agent's exec, compared with the minimum: two plain spawns and three durable
//! commits.

use std::path::Path;

use rusqlite::Connection;

use super::Setting;
use super::measure::{Cost, Quantity, Row, cost, in_turns};
use super::project::Project;
use crate::{Stop, shell};

/// Maximum acceptable multiple of the limit.
const TARGET: f64 = 1.5;
/// Handoffs per round: a single one is too short to measure.
const HANDOFFS: u32 = 50;
/// Commits per handoff: the leg's end, the claim of the next, its start.
const COMMITS: usize = 3;
/// Roughly what the end of a leg writes.
const BODY: usize = 700;

/// Two stages that hand over to each other until their budget is spent. The agent prints the outcome and exits.
const CONFIG: &str = r#"
agent = "bench"
[agents.bench]
adapter = "command"
run = ["/bin/echo", "<<<OUTCOME:next>>>{}<<<END_PAYLOAD>>>"]
"#;
const WORKFLOW: &str = r#"
[budgets]
rounds = ROUNDS
[stages.ping]
mode = "design"
on = { next = "pong", finished = "done" }
[stages.pong]
mode = "design"
on = { next = { to = "ping", budget = "rounds" } }
"#;

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let Setting { acquit, dir, size, .. } = setting;
    let handoffs = size.pick(HANDOFFS, 4);
    let connection = database(&dir.join("limit.db")).map_err(Stop::doing("open a database"))?;
    let template = dir.join("template");
    super::leg::repository(&template)?;
    let project = Project::new(acquit, &template, &dir.join("relay"), CONFIG, &workflow(handoffs))?;
    let mut ours = || relay(&project, handoffs);
    let [limit, ours] = in_turns(setting.rounds(), [&mut || plain(&connection, handoffs), &mut ours])?
        .map(|cost| cost.per(handoffs));
    Ok(vec![Row {
        thing: "from one agent's exit to the next one's, wall".to_owned(),
        ours: Quantity::Time(ours.wall),
        limit: Quantity::Time(limit.wall),
        target: Some(TARGET),
    }])
}

/// Returns the workflow with a budget for `handoffs`; each round has two.
fn workflow(handoffs: u32) -> String {
    WORKFLOW.replace("ROUNDS", &(handoffs / 2).to_string())
}

/// Runs a task with `handoffs` + 1 legs, all in one process that execs the next. Returns the time between the ends of
/// the first and the last. This includes the agent's own run time, which the promise excludes, so it is an upper
/// bound.
fn relay(project: &Project, handoffs: u32) -> Result<Cost, Stop> {
    let id = project.add("hand over")?;
    if !shell::succeeds(&mut project.acquit(&["leg", "--task", &id]))? {
        return Err(Stop("the relay did not run".to_owned()));
    }
    let shown = project.json(&["task", "show", &id])?;
    let legs = shown["legs"].as_array().map_or(&[][..], Vec::as_slice);
    let ends: Vec<u64> = legs.iter().filter_map(|leg| leg["ended"].as_u64()).collect();
    match (ends.first(), ends.get(handoffs as usize)) {
        (Some(first), Some(last)) => {
            Ok(Cost { wall: std::time::Duration::from_millis(last - first), ..Cost::default() })
        }
        _ => Err(Stop(format!("the relay had {} legs", ends.len()))),
    }
}

/// Opens a database with the store's durability settings: write-ahead log, every commit synced.
pub(super) fn database(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "pragma journal_mode = wal; pragma synchronous = full; create table entry (id integer primary key, body text)",
    )?;
    Ok(connection)
}

/// Repeats `handoffs` times: spawn and wait, three commits, spawn and wait.
pub(super) fn plain(connection: &Connection, handoffs: u32) -> Result<Cost, Stop> {
    let body = "x".repeat(BODY);
    let spawn = || shell::succeeds(&mut shell::program("true"));
    let work = || {
        for _ in 0..handoffs {
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
        plain(&connection, HANDOFFS).expect("handoffs");
        let rows: i64 =
            connection.query_row("select count(*) from entry", [], |row| row.get(0)).expect("rows");
        assert_eq!(rows, i64::from(HANDOFFS) * 3);
    }
}
