//! Measures recovery: the harnesses of a thousand legs are killed and the daemon is restarted. How long until it has
//! found every leg and their tasks continue?
#![allow(clippy::disallowed_methods, reason = "the daemon is started as a person starts it, and looked at")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use acquit_testkit::postgres::Database;

use super::Setting;
use super::measure::{Quantity, Row, cost};
use super::project::Project;
use crate::Stop;
use crate::server::Server;

/// Maximum time for the daemon.
const LIMIT: Duration = Duration::from_secs(2);
const LEGS: u32 = 1_000;
/// Harnesses that run at the same time.
const AT_ONCE: usize = 8;
/// Timeout for everything else.
const PATIENCE: Duration = Duration::from_mins(10);
/// Poll interval.
const LOOK: Duration = Duration::from_millis(5);

/// An agent that works until a file appears.
const CONFIG: &str = "agent = \"bench\"\n[agents.bench]\nadapter = \"command\"\n\
    run = [\"sh\", \"-c\", \"while [ ! -e 'STOP' ]; do sleep 5; done\"]\n[access]\nread = [\"FOLDER\"]\n";
const WORKFLOW: &str = "[budgets]\noutcome = 0\nnothing = 0\nagent = 0\n[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let legs = setting.size.pick(LEGS, 4);
    let server = Server::start()?;
    let database = Database::on(&server.url).map_err(Stop::doing("create a database"))?;
    let template = setting.dir.join("template");
    super::leg::repository(&template)?;
    let mut rows = Vec::new();
    for (name, url) in [("SQLite", None), ("PostgreSQL", Some(database.url.as_str()))] {
        let folder = setting.dir.join(name);
        let stop = folder.join("stop");
        let text = |text: &str| text.replace("STOP", &stop.display().to_string());
        let config = text(CONFIG).replace("FOLDER", &folder.display().to_string());
        let project = Project::new(setting.acquit, &template, &folder, &config, WORKFLOW)?;
        let store = Store { project: &project, url };
        let (found, cpu) = store.recover(legs)?;
        std::fs::write(&stop, "").map_err(Stop::doing("write a file"))?;
        store.until(PATIENCE, "the last legs end", "state = 'running'", 0)?;
        let row = |what: &str, ours, target| Row {
            thing: format!("{legs} legs found after a kill of everything, on {name}, {what}"),
            ours: Quantity::Time(ours),
            limit: Quantity::Time(LIMIT),
            target,
        };
        rows.push(row("time", found, Some(1.0)));
        rows.push(row("CPU", cpu, None));
    }
    Ok(rows)
}

/// A project with its store.
struct Store<'a> {
    project: &'a Project,
    /// Database URL; without one, the file in the project's home.
    url: Option<&'a str>,
}

impl Store<'_> {
    fn acquit(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.acquit(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.envs(self.url.map(|url| ("ACQUIT_STORE", url)));
        command
    }

    /// Returns the number of legs in this state.
    fn count(&self, which: &str) -> Result<u32, Stop> {
        let sql = format!("select count(*) from legs where {which}");
        let count = match self.url {
            Some(url) => acquit_testkit::postgres::number(url, &sql).map_err(Stop::doing("count legs"))?,
            None => rusqlite::Connection::open(self.project.home().join("acquit.db"))
                .and_then(|store| store.query_row(&sql, [], |row| row.get(0)))
                .map_err(Stop::doing("count legs"))?,
        };
        Ok(u32::try_from(count).unwrap_or_default())
    }

    /// Waits until this many legs are in this state.
    fn until(&self, limit: Duration, what: &str, which: &str, wanted: u32) -> Result<(), Stop> {
        let begun = Instant::now();
        while self.count(which)? != wanted {
            if begun.elapsed() > limit {
                return Err(Stop(format!("not within {limit:?}: {what}")));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Adds tasks, starts a harness for each, kills them all, and starts the daemon. Returns the time until it has found
    /// all, and its CPU time.
    fn recover(&self, legs: u32) -> Result<(Duration, Duration), Stop> {
        let next = AtomicU32::new(0);
        let add = || {
            while next.fetch_add(1, Ordering::Relaxed) < legs {
                let added = self.acquit(&["task", "add", "Do it"]).status();
                if !added.map_err(Stop::doing("start acquit"))?.success() {
                    return Err(Stop("acquit did not add a task".to_owned()));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Stop("a thread panicked".to_owned())))
            })
        })?;
        // Not all at once: a thousand harnesses that start together fill the machine for minutes. The store and the
        // daemon cannot tell the difference.
        let mut harnesses: Vec<Child> = Vec::new();
        for number in 0..legs {
            let task = format!("T-{}", number + 1);
            let harness = self.acquit(&["leg", "--task", &task]).spawn();
            let harness = harness.map_err(Stop::doing("start a harness"))?;
            harnesses.push(harness);
            if harnesses.len() == AT_ONCE || number + 1 == legs {
                self.until(PATIENCE, "harnesses claim their legs", "state = 'running'", number + 1)?;
                for mut harness in harnesses.drain(..) {
                    let _ = harness.kill();
                    let _ = harness.wait();
                }
            }
        }
        let (found, cost) = cost(|| {
            let begun = Instant::now();
            let mut daemon =
                self.acquit(&["serve", "--no-web"]).spawn().map_err(Stop::doing("start the daemon"))?;
            let found = self
                .until(PATIENCE, "all are found", "number = 1 and state = 'lost'", legs)
                .map(|()| begun.elapsed());
            let _ = daemon.kill();
            let _ = daemon.wait();
            found
        })?;
        Ok((found, cost.cpu))
    }
}
