//! Three workers and a PostgreSQL primary with a standby, each on a host of its own: links are cut, slowed and healed,
//! hosts are killed and sleep, and the database fails over. Every task ends as if nothing had happened.
//!
//! The user's own machine is this one. It reaches the database by its Unix sockets, merges the work and sends messages.
//! A worker's host has a network, process numbers and a name of its own; its first process starts the worker again when
//! it dies, as systemd would.
#![allow(clippy::disallowed_methods, reason = "a host is started by the test")]

mod audit;
mod chaos;
mod matrix;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use acquit_testkit::network::{Host, Network};
use acquit_testkit::receiver::Receiver;
use acquit_testkit::replicated::{Replicated, Row};
use rustix::process::Signal;

use crate::common::{SCRIPTED, Sandbox, Started, processes, until};

/// Seconds that a lease lasts here, instead of five minutes.
const LEASE: u64 = 10;

/// Nothing that a fleet waits for takes longer: a lease, the patrol that finds it, and retries of what failed a few times.
const QUIET: Duration = Duration::from_mins(1);

/// Two stages on any workers, each with a gate, and the merge on the user's own machine.
const WORKFLOW: &str = r#"
budgets = { lost = 100, harness = 100, agent = 100, outcome = 100, nothing = 100, test = 100 }
[gates.lines]
kind = "test"
run = "sleep 0.4; test $(cat work/*.txt | wc -l) -ge 1"
[stages.write]
mode = "implement"
runs_on = ["w"]
gates = ["lines"]
on = { pr_ready = "extend" }
[stages.extend]
mode = "implement"
runs_on = ["w"]
gates = ["lines"]
on = { pr_ready = "merge" }
[stages.merge]
kind = "action"
action = "merge"
on = { done = "done" }
"#;

/// What an attempt at a stage costs, in millionths of a dollar.
const COST: u64 = 100;

fn script() -> String {
    let stage = |name: &str| {
        format!(
            "[[{name}]]\nstep = [ {{ run = \"sh '@ROOT@/agent.sh' {name}\" }}, \
             {{ usage = {{ model = \"m\", input = 10, cost_micros = {COST} }} }}, \
             {{ outcome = \"pr_ready\", payload = {{ summary = \"done\" }} }} ]\n"
        )
    };
    stage("write") + &stage("extend")
}

/// Appends a line. Holds a lock meanwhile, which ends with its process, so that a second agent of the same task is
/// found out.
const AGENT: &str = r#"
cd "$PWD"
exec 9>> "@ROOT@/locks/$ACQUIT_TASK"
flock -n 9 || echo "$ACQUIT_TASK" >> "@ROOT@/doubled"
echo "$ACQUIT_TASK $1" >> "@ROOT@/agents"
sleep "$(($(od -An -N1 -tu1 /dev/urandom) % @SLEEP@)).$(($(od -An -N1 -tu1 /dev/urandom) % 10))"
mkdir -p work
echo "$1" >> "work/$ACQUIT_TASK.txt"
git add -A
git commit -qm "$1"
"#;

/// The user's machine: its repository, with a webhook for messages.
fn desk(store: &str, hook: &str, sleep: u32) -> Sandbox {
    let config = format!(
        "{SCRIPTED}\n[secrets]\nKEY = {{ env = \"KEY\" }}\n\
         [notify.hook]\nkind = \"webhook\"\nurl = \"{hook}/told\"\nsecret = \"KEY\"\nevents = [\"done\", \"failed\", \"needs_person\"]\n"
    );
    let sandbox = Sandbox::new(&config, WORKFLOW, &script());
    let agent = sandbox.fill(AGENT).replace("@SLEEP@", &sleep.to_string());
    std::fs::write(sandbox.place("agent.sh"), agent).unwrap();
    std::fs::create_dir(sandbox.place("locks")).unwrap();
    let history = sandbox.place("history").to_string_lossy().into_owned();
    let sandbox = sandbox.with("ACQUIT_STORE", store).with("KEY", "the-key-of-the-test");
    sandbox.with("ACQUIT_LEASE", LEASE.to_string()).with("ACQUIT_HISTORY", history)
}

/// Runs a program again whenever it has ended, as systemd would.
const AGAIN: &str = "while [ ! -e \"$END\" ]; do \"$@\"; sleep 1; done";

/// Whether these are the arguments of a worker, and not of a shell that starts one.
fn is_worker(line: &str) -> bool {
    is_acquit(line, "worker")
}

/// Whether these are the arguments of the daemon.
fn is_daemon(line: &str) -> bool {
    is_acquit(line, "serve")
}

fn is_acquit(line: &str, verb: &str) -> bool {
    let mut words = line.split(' ');
    words.next().is_some_and(|program| program.ends_with("/acquit")) && words.next() == Some(verb)
}

/// A worker's host.
struct Worker<'n> {
    host: &'n Host<'n>,
    name: String,
    /// Its first process, and how often it was started.
    runs: Option<Started>,
    starts: u32,
}

impl<'n> Worker<'n> {
    fn new(host: &'n Host<'n>, number: usize) -> Self {
        Self { host, name: format!("w{number}"), runs: None, starts: 0 }
    }

    fn place(&self, sandbox: &Sandbox, name: &str) -> PathBuf {
        sandbox.place(&format!("host-{}/{name}", self.name))
    }

    /// Boots it.
    fn boot(&mut self, sandbox: &Sandbox, store: &str, slots: u32) {
        let config = format!("[access]\nwrite = [\"{}\"]\n", sandbox.place("").display());
        acquit_testkit::repo::write(&self.place(sandbox, "home/.config/acquit/config.toml"), &config);
        for folder in ["acquit", "tmp"] {
            std::fs::create_dir_all(self.place(sandbox, folder)).unwrap();
        }
        self.starts += 1;
        // Another name each time: that of a host that died is free only after half a minute.
        let name = format!("{}-{}", self.name, self.starts);
        let script = format!("echo \"$0\" > /proc/sys/kernel/hostname; {AGAIN}");
        // Everything on the host ends with this test, also if that is killed.
        let mut first = Command::new("setpriv");
        first.args([
            "--pdeathsig=KILL",
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            "--uts",
            "--kill-child",
            "sh",
            "-c",
            &script,
            &self.name,
        ]);
        let slots = slots.to_string();
        let worker = sandbox.command(&[
            "worker",
            "--trust-store",
            "--name",
            &name,
            "--labels",
            "w",
            "--slots",
            &slots,
        ]);
        first.arg(worker.get_program()).args(worker.get_args());
        first.envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
        first.env("HOME", self.place(sandbox, "home")).env("TMPDIR", self.place(sandbox, "tmp"));
        first.env("ACQUIT_HOME", self.place(sandbox, "acquit")).env("ACQUIT_STORE", store);
        first.env("END", sandbox.place("end")).current_dir(self.place(sandbox, "tmp"));
        let said = |end: &str| self.place(sandbox, &format!("{}.{end}", self.starts));
        self.runs = Some(Started::new(&mut self.host.command(&first), said("out"), said("err")));
    }

    /// Kills all its processes: the first one, and with it every one in its namespace.
    fn kill(&mut self) {
        let Some(first) = self.runs.take() else { return };
        first.signal(Signal::KILL);
        first.wait();
    }

    /// All its processes, from the first one down.
    fn processes(&self) -> Vec<u32> {
        self.runs.as_ref().map(|first| processes::descendants(first.pid())).unwrap_or_default()
    }

    /// Sends a signal to all its processes.
    fn signal(&self, signal: Signal) {
        self.processes().into_iter().for_each(|pid| processes::try_signal(pid, signal));
    }
}

/// Everything that runs, and what is counted.
struct Fleet<'n> {
    sandbox: &'n Sandbox,
    pair: Replicated<'n>,
    workers: Vec<Worker<'n>>,
    daemon: Option<Started>,
    told: &'n Receiver,
    /// Tasks whose agent slept with its host: the next one may find its lock held.
    slept: BTreeSet<String>,
    slots: u32,
    /// Whether single programs are killed too, so that attempts may fail.
    kills: bool,
}

impl Drop for Fleet<'_> {
    /// What the database has says most of a test that failed, and goes with it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.pair.dump(&self.sandbox.place("store.sql"));
        }
    }
}

impl Fleet<'_> {
    fn boot(&mut self, which: usize) {
        let url = self.pair.url();
        self.workers[which].boot(self.sandbox, &url, self.slots);
    }

    /// Starts the daemon, and again whenever it has ended.
    fn serve(&mut self) {
        let daemon = self.sandbox.command(&["serve", "--no-web"]);
        let mut first = self.sandbox.program("setpriv");
        first.args(["--pdeathsig=KILL", "sh", "-c", AGAIN, "daemon"]);
        first.arg(daemon.get_program()).args(daemon.get_args());
        first.envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))));
        first.env("END", self.sandbox.place("end"));
        let said = |end: &str| self.sandbox.place(&format!("daemon.{end}"));
        self.daemon = Some(Started::new(&mut first, said("out"), said("err")));
    }

    /// Adds tasks, some at a time.
    fn add(&self, tasks: u32) {
        for number in 1..=tasks {
            self.sandbox.acquit(&["task", "add", &format!("Task {number}")]).must(0);
        }
    }

    /// What the database tells. A server that ends all connections because one of its processes was killed is asked again.
    fn rows<T>(&self, sql: &str, read: impl Fn(&Row) -> T) -> Vec<T> {
        let found = until(sql, || self.pair.client().query(sql, &[]).ok());
        found.iter().map(read).collect()
    }

    /// A number that the database tells.
    fn count(&self, sql: &str) -> i64 {
        self.rows(sql, |row| row.get(0))[0]
    }

    fn done(&self) -> i64 {
        self.count("select count(*) from tasks where state = 'done'")
    }

    /// Waits until all tasks are done. However slow the machine is, something happens all the time; a task that nobody
    /// works on is stuck.
    fn wait_for(&self, tasks: u32, patience: Duration, what: &str) {
        let begun = Instant::now();
        let (mut last, mut moved) = (0, Instant::now());
        while self.done() < i64::from(tasks) {
            let events = self.count("select coalesce(max(seq), 0) from events");
            if events != last {
                (last, moved) = (events, Instant::now());
            }
            assert!(moved.elapsed() < QUIET, "{what}: nothing happens for {QUIET:?}: {:#?}", self.open());
            assert!(begun.elapsed() < patience, "{what}: not done: {:#?}", self.open());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What tasks that are not done wait for.
    fn open(&self) -> Vec<String> {
        let sql = "select format('T-%s %s %s: %s', tasks.id, tasks.state, tasks.stage, (select string_agg(format('%s %s %s', number, legs.state,
            left(owner, 150)), '; ' order by number) from legs where task = tasks.id)) from tasks where state <> 'done'";
        self.rows(sql, |row| row.get(0))
    }

    /// Tasks whose leg runs on a host.
    fn running_on(&self, worker: &Worker<'_>) -> Vec<String> {
        let sql = format!(
            "select 'T-' || task from legs where state = 'running' and owner like '%\"worker\":\"{}-%'",
            worker.name
        );
        self.rows(&sql, |row| row.get(0))
    }

    /// Waits until an agent works on a host.
    fn until_busy(&self, which: usize) {
        until(&format!("{} works", self.workers[which].name), || {
            (!self.running_on(&self.workers[which]).is_empty()).then_some(())
        });
    }

    /// Ends everything as a person would: the workers finish their legs.
    fn end(&mut self) {
        std::fs::write(self.sandbox.place("end"), "").unwrap();
        for first in self.workers.iter_mut().filter_map(|worker| worker.runs.take()).chain(self.daemon.take())
        {
            // One that was just started may not hear the first signal.
            until("the worker or daemon ends", || {
                let below = processes::descendants(first.pid());
                processes::family(&self.sandbox.place("").to_string_lossy())
                    .iter()
                    .filter(|(pid, line)| below.contains(pid) && (is_worker(line) || is_daemon(line)))
                    .for_each(|(pid, _)| processes::try_signal(*pid, Signal::TERM));
                std::thread::sleep(Duration::from_millis(200));
                processes::is_over(first.pid()).then_some(())
            });
            first.wait().must(0);
        }
    }
}

/// Makes hosts and servers, and gives them to a test. Skips it where no network can be made.
fn with_fleet(sleep: u32, slots: u32, test: impl FnOnce(&mut Fleet<'_>)) {
    let why = "workers and databases on hosts of their own";
    let Some(network) = Network::or_skip(why) else { return };
    let (first, second) = (network.host(), network.host());
    let hosts = [network.host(), network.host(), network.host()];
    let Some(pair) = Replicated::or_skip(&first, &second, why) else { return };
    let told = Receiver::start(|_, _| (200, "{}".to_owned()));
    let sandbox = desk(&pair.local_url(), &told.url, sleep);
    let workers = hosts.iter().enumerate().map(|(at, host)| Worker::new(host, at + 1)).collect();
    let mut fleet = Fleet {
        sandbox: &sandbox,
        pair,
        workers,
        daemon: None,
        told: &told,
        slept: BTreeSet::new(),
        slots,
        kills: false,
    };
    test(&mut fleet);
}
