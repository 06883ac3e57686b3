//! Measures how fast legs are claimed: in a store with millions of events and in an empty one, and on PostgreSQL
//! compared with pgbench, which sends the same statements.
//!
//! The statements come from the server's own log of one claim, so they are always those of this version.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use acquit_testkit::postgres::{Database, programs};
use serde_json::Value;

use super::Setting;
use super::measure::{Cost, Quantity, Row, in_turns};
use crate::server::Server;
use crate::{Stop, shell};

/// Maximum slowdown of a claim after many events.
const OLD: f64 = 1.5;
/// Maximum time for claims, as a multiple of what pgbench needs for their statements: 0.8 times its rate.
const BESIDE_PGBENCH: f64 = 1.25;
const EVENTS: u32 = 10_000_000;
/// Legs to claim in a round.
const LEGS: u32 = 400;
/// Numbers of connections that claim at the same time.
const CLIENTS: [u32; 3] = [1, 8, 32];
/// Identifies the task in the log.
const FIRST_TASK: i64 = 70_000_000;
/// Number of queries of the queue in a round.
const LOOKS: u32 = 20;

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let server = Server::start()?;
    let database = || Database::on(&server.url).map_err(Stop::doing("create a database"));
    let (empty, old) = (database()?, database()?);
    let mut rows = Vec::new();
    let file = |name: &str| setting.dir.join(name).display().to_string();
    let events = setting.size.pick(EVENTS, 2_000);
    for (name, empty, old) in
        [("SQLite", file("empty.db"), file("old.db")), ("PostgreSQL", empty.url.clone(), old.url.clone())]
    {
        let bench = Claims { setting, legs: setting.size.pick(LEGS, 6) };
        bench.fill(&empty, 1)?;
        bench.fill(&old, 1)?;
        grow(&old, events)?;
        let [new, old] = in_turns(
            setting.rounds(),
            [&mut || bench.round(&empty, 1).map(median), &mut || bench.round(&old, 1).map(median)],
        )?;
        rows.push(Row {
            thing: format!("a claim on {name} with {events} events, beside an empty store"),
            ours: Quantity::Time(old.wall),
            limit: Quantity::Time(new.wall),
            target: Some(OLD),
        });
    }
    beside_pgbench(setting, &server, &mut rows)?;
    Ok(rows)
}

struct Claims<'a> {
    setting: Setting<'a>,
    legs: u32,
}

impl Claims<'_> {
    /// Runs the example and returns what it printed.
    fn example(&self, arguments: &[&str]) -> Result<Value, Stop> {
        let output = self.setting.store_example("claims").args(arguments).output();
        let output = output.map_err(Stop::doing("start the example"))?;
        if !output.status.success() {
            return Err(Stop(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(Stop::doing("read what the example said"))
    }

    fn fill(&self, store: &str, legs: u32) -> Result<(), Stop> {
        self.example(&[store, "fill", &legs.to_string()]).map(|_| ())
    }

    /// Creates tasks, then claims as many legs.
    fn round(&self, store: &str, clients: u32) -> Result<Value, Stop> {
        self.fill(store, self.legs)?;
        self.example(&[store, "take", &self.legs.to_string(), &clients.to_string()])
    }
}

fn seconds(value: &Value, key: &str) -> Duration {
    Duration::from_secs_f64(value[key].as_f64().unwrap_or_default())
}

fn median(value: Value) -> Cost {
    Cost { wall: seconds(&value, "median"), cpu: Duration::ZERO }
}

/// Copies an event of the first task until there are this many.
fn grow(store: &str, events: u32) -> Result<(), Stop> {
    const COLUMNS: &str = "task, leg, at, category, kind, level, actor, summary, data";
    if store.starts_with("postgres") {
        let sql = format!(
            "set session_replication_role = replica; insert into events ({COLUMNS}) select {COLUMNS} from (select {COLUMNS} from events limit 1) one,
             generate_series(1, {events})"
        );
        execute(store, &sql)?;
        return execute(store, "analyze");
    }
    let failed = |error: rusqlite::Error| Stop(format!("failed to fill a store: {error}"));
    let file = rusqlite::Connection::open(store).map_err(failed)?;
    let sql = format!(
        "pragma synchronous = off; with recursive many(n) as (select 1 union all select n + 1 from many where n < {events})
         insert into events ({COLUMNS}) select {COLUMNS} from many, (select {COLUMNS} from events limit 1) one"
    );
    file.execute_batch(&sql).map_err(failed)
}

fn execute(url: &str, sql: &str) -> Result<(), Stop> {
    psql(url, &["-c", sql]).map(|_| ())
}

/// Runs psql, which reads parameters of the URL as the driver does.
fn psql(url: &str, arguments: &[&str]) -> Result<String, Stop> {
    let mut command = shell::program("psql");
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-At"]).args(arguments).arg(url);
    let output = command.output().map_err(Stop::doing("start psql"))?;
    if !output.status.success() {
        return Err(Stop(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Claims and runs pgbench in turns, on separate databases with the same content; then measures the cost of a worker's
/// query.
fn beside_pgbench(setting: Setting<'_>, server: &Server, rows: &mut Vec<Row>) -> Result<(), Stop> {
    let script = setting.dir.join("claim.sql");
    for clients in CLIENTS {
        let bench = Claims { setting, legs: setting.size.pick(LEGS, 8).max(clients) };
        let database = || Database::on(&server.url).map_err(Stop::doing("create a database"));
        let (ours, theirs) = (database()?, database()?);
        bench.fill(&ours.url, 1)?;
        let variables = recorded(&bench, server, &theirs, &script)?;
        let per_leg = |cost: Duration| Cost { wall: cost / bench.legs, cpu: Duration::ZERO };
        let mut claim = || bench.round(&ours.url, clients).map(|it| per_leg(seconds(&it, "seconds")));
        let mut plain = || {
            bench.fill(&theirs.url, bench.legs)?;
            pgbench(&theirs.url, &script, &variables, bench.legs / clients, clients).map(per_leg)
        };
        let [ours, limit] = in_turns(setting.rounds(), [&mut claim, &mut plain])?;
        rows.push(Row {
            thing: format!("a claim by {clients} at once, beside pgbench"),
            ours: Quantity::Time(ours.wall),
            limit: Quantity::Time(limit.wall),
            target: Some(BESIDE_PGBENCH),
        });
    }
    let database = Database::on(&server.url).map_err(Stop::doing("create a database"))?;
    for (running, waiting) in [(10_u32, 10_u32), (1_000, 1_000)] {
        let (running, waiting) = (setting.size.pick(running, 2), setting.size.pick(waiting, 2));
        let bench = Claims { setting, legs: running };
        bench.round(&database.url, 1)?;
        bench.fill(&database.url, waiting)?;
        let looked = bench.example(&[&database.url, "look", &LOOKS.to_string()])?;
        rows.push(Row {
            thing: format!("a look of a worker: {} legs wait, {} run", looked["waiting"], looked["running"]),
            ours: Quantity::Time(seconds(&looked, "seconds")),
            limit: Quantity::Time(Duration::from_millis(5)),
            target: None,
        });
        bench.round(&database.url, 1)?;
    }
    Ok(())
}

/// Lets the server log one claim, and writes its statements as a script for pgbench. Returns the script's variables.
fn recorded(
    bench: &Claims<'_>,
    server: &Server,
    database: &Database,
    script: &Path,
) -> Result<BTreeMap<String, String>, Stop> {
    bench.fill(&database.url, 1)?;
    bench.example(&[&database.url, "take", "1", "1"])?;
    execute(&database.url, &format!("select setval('task_ids', {FIRST_TASK})"))?;
    bench.fill(&database.url, 1)?;
    let before = server.log()?.len();
    let name = psql(&database.url, &["-c", "select current_database()"])?;
    let name = name.trim();
    execute(&database.url, &format!("alter database {name} set log_statement = 'all'"))?;
    bench.example(&[&database.url, "take", "1", "1"])?;
    execute(&database.url, &format!("alter database {name} reset log_statement"))?;
    let log = server.log()?;
    let (text, variables) = script_of(log.get(before..).unwrap_or_default())
        .ok_or_else(|| Stop("the server's log shows no claim".to_owned()))?;
    std::fs::write(script, text).map_err(Stop::doing("write a script for pgbench"))?;
    Ok(variables)
}

/// Builds a script from a server's log: the transaction that claims. Values become variables, which are returned
/// separately.
fn script_of(log: &str) -> Option<(String, BTreeMap<String, String>)> {
    let mut entries: Vec<String> = Vec::new();
    for line in log.lines() {
        match line.strip_prefix('\t') {
            Some(more) => entries.last_mut()?.push_str(&format!("\n{more}")),
            None => entries.push(line.to_owned()),
        }
    }
    // From the last `begin` before the claim to the commit after it.
    let claim = entries.iter().position(|entry| entry.contains("nextval('fences')"))?;
    let is = |entry: &str, word: &str| entry.to_lowercase().ends_with(&format!("statement: {word}"));
    let begin = entries[..claim].iter().rposition(|entry| {
        entry.to_lowercase().contains("statement: start transaction") || is(entry, "begin")
    })?;
    let end = claim + entries[claim..].iter().position(|entry| is(entry, "commit"))?;
    let (mut script, mut variables) = ("begin;\n".to_owned(), BTreeMap::new());
    for (number, entry) in entries[begin..end].iter().enumerate() {
        let Some((_, rest)) = entry.split_once("LOG:  execute ") else { continue };
        let (_, sql) = rest.split_once(": ")?;
        let detail = entries.get(begin + number + 1).filter(|next| next.contains("DETAIL:  ")).cloned();
        let values = parameters(&detail.unwrap_or_default());
        let mut sql = sql.to_owned();
        for (at, value) in values.iter().enumerate().rev() {
            let name = if *value == (FIRST_TASK + 1).to_string() {
                "c_task".to_owned()
            } else {
                let name = format!("v{number}_{at}");
                variables.insert(name.clone(), later(value));
                name
            };
            sql = sql.replace(&format!("${}", at + 1), &format!(":{name}"));
        }
        let ends = if sql.contains("nextval('fences')") { " \\gset c_\n" } else { ";\n" };
        // pgbench reads one statement per line.
        script.push_str(&sql);
        script.push_str(ends);
    }
    script.push_str("commit;\n");
    Some((script, variables))
}

/// Moves times by a day: at the time of the record, the legs of later rounds were not due.
fn later(value: &str) -> String {
    const TIMES: std::ops::Range<i64> = 1_600_000_000_000..4_000_000_000_000;
    match value.parse::<i64>() {
        Ok(time) if TIMES.contains(&time) => (time + 86_400_000).to_string(),
        _ => value.to_owned(),
    }
}

/// Parses `$1 = 'a', $2 = NULL` of a log.
fn parameters(detail: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = detail;
    while let Some(at) = rest.find(&format!("${} = ", values.len() + 1)) {
        rest = &rest[at..];
        let Some((_, value)) = rest.split_once(" = ") else { break };
        let Some(quoted) = value.strip_prefix('\'') else {
            values.push(String::new());
            rest = value;
            continue;
        };
        let mut text = String::new();
        let mut letters = quoted.char_indices().peekable();
        let mut end = quoted.len();
        while let Some((at, letter)) = letters.next() {
            if letter != '\'' {
                text.push(letter);
            } else if letters.next_if(|(_, next)| *next == '\'').is_some() {
                text.push('\'');
            } else {
                end = at;
                break;
            }
        }
        values.push(text);
        rest = &quoted[end..];
    }
    values
}

/// Runs the script this often with each client. Returns the time from the first to the last transaction.
fn pgbench(
    url: &str,
    script: &Path,
    variables: &BTreeMap<String, String>,
    times: u32,
    clients: u32,
) -> Result<Duration, Stop> {
    let bin = programs().ok_or_else(|| Stop("no PostgreSQL server was found".to_owned()))?;
    let mut command = shell::program(bin.join("pgbench"));
    command.args(["-n", "-M", "prepared", "-t", &times.to_string(), "-c", &clients.to_string(), "-j"]);
    command.arg(clients.min(4).to_string()).arg("-f").arg(script);
    for (name, value) in variables {
        command.arg("-D").arg(format!("{name}={value}"));
    }
    let output = command.arg(url).output().map_err(Stop::doing("start pgbench"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let tps =
        said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse::<f64>().ok());
    match tps.filter(|_| output.status.success() && said.contains("failed transactions: 0 ")) {
        Some(tps) => Ok(Duration::from_secs_f64(f64::from(times * clients) / tps)),
        None => Err(Stop(format!("pgbench failed: {said}{}", String::from_utf8_lossy(&output.stderr)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_in_a_log_becomes_a_script() {
        let log = "2026 [1] LOG:  execute s1: select 1 from other\n\
                   2026 [1] LOG:  statement: START TRANSACTION\n\
                   2026 [1] LOG:  execute s2: with x as (\n\t  select $1) update legs set fence = nextval('fences'), owner = $2\n\
                   2026 [1] DETAIL:  parameters: $1 = '17', $2 = '{\"it''s\":\"a\"}'\n\
                   2026 [1] LOG:  execute s3: select body from tasks where id = $1\n\
                   2026 [1] DETAIL:  parameters: $1 = '70000001'\n\
                   2026 [1] LOG:  statement: COMMIT\n";
        let (script, variables) = script_of(log).expect("a script");
        assert_eq!(
            script,
            "begin;\nwith x as (\n  select :v1_0) update legs set fence = nextval('fences'), owner = :v1_1 \\gset c_\n\
             select body from tasks where id = :c_task;\ncommit;\n"
        );
        assert_eq!(variables["v1_0"], "17");
        assert_eq!(variables["v1_1"], "{\"it's\":\"a\"}");
    }
}
