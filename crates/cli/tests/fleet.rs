//! Many machines on one PostgreSQL: workers without a checkout take turns at a task, one of them is killed, and every machine can see it all.
//!
//! Each worker has a home, a configuration and an ACQUIT_HOME of its own, and runs in a folder that is no repository.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the real binary, and look again until a condition holds"
)]

mod common;
#[path = "fleet/home.rs"]
mod home;
#[path = "fleet/remote.rs"]
mod remote;
#[path = "fleet/retention.rs"]
mod retention;
#[path = "fleet/trouble.rs"]
mod trouble;

use std::path::{Path, PathBuf};
use std::process::Command;

use acquit_core::leg::{Ending, State};
use acquit_testkit::postgres::{Database, Role, database_or_skip};
use common::{Ran, Sandbox, Started, processes, until, until_file};
use rustix::process::Signal;

/// Two stages for machines with labels, one for any, and the delivery.
const RELAY: &str = r#"
[budgets]
lost = 2
[stages.first]
mode = "implement"
runs_on = ["a"]
outputs = ["*.md"]
on = { pr_ready = "second" }
[stages.second]
mode = "implement"
runs_on = ["b"]
inputs = ["notes.md"]
on = { pr_ready = "check" }
[stages.check]
kind = "check"
gates = ["lines"]
on = { passed = "deliver" }
[gates.lines]
run = "echo the gate speaks; test $(wc -l < work.txt) = 2"
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Writes a line for each stage. The second one's is in a file that the first one left.
const AGENT: &str = r#"
prompt=$(cat)
echo "I work in $(basename "$PWD")"
if [ -e work.txt ]; then
    cat "$(printf '%s' "$prompt" | grep -o '/[^ `"]*notes\.md' | head -n 1)" >> work.txt
else
    out=$(printf '%s' "$prompt" | grep -o '/[^ `"]*/legs/[0-9]*/out' | head -n 1)
    echo "from the first" > "$out/notes.md"
    echo "first" >> work.txt
fi
"#;

/// One stage whose agent waits for a word, and the delivery.
const SLOW: &str = r#"
[budgets]
lost = 2
[stages.code]
mode = "implement"
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

const WAITS: &str =
    "touch '@ROOT@/began'; while [ ! -e '@ROOT@/go' ]; do sleep 0.1; done; echo work > work.txt\n";

/// A machine beside the user's: where it lives, and the store.
struct Machine<'s> {
    sandbox: &'s Sandbox,
    name: &'static str,
    store: String,
}

impl<'s> Machine<'s> {
    fn new(sandbox: &'s Sandbox, database: &Database, name: &'static str, config: &str) -> Self {
        let machine = Self { sandbox, name, store: database.url.clone() };
        for folder in ["home/.config/acquit", "acquit", "tmp", "elsewhere"] {
            std::fs::create_dir_all(machine.place(folder)).unwrap();
        }
        std::fs::write(machine.place("home/.config/acquit/config.toml"), config).unwrap();
        machine
    }

    fn place(&self, name: &str) -> PathBuf {
        self.sandbox.place(&format!("machine-{}/{name}", self.name))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command.current_dir(self.place("elsewhere")).env("HOME", self.place("home"));
        command.env("TMPDIR", self.place("tmp")).env("ACQUIT_HOME", self.place("acquit"));
        command.env("ACQUIT_STORE", &self.store);
        command
    }

    fn start(&self, args: &[&str]) -> Started {
        let file = |end: &str| self.place(&format!("{}.{end}", args[0]));
        Started::new(&mut self.command(args), file("out"), file("err"))
    }

    fn acquit(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// A worker as in a container: the same name of the machine, the same boot, other numbers of processes.
    fn contained_worker(&self) -> Started {
        let worker = self.command(&["worker", "--trust-store", "--name", self.name]);
        let mut contained = self.sandbox.program("unshare");
        let root = rustix::process::geteuid().is_root();
        contained.args(if root { &[][..] } else { &["--user", "--map-root-user"] });
        contained.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        contained.arg(worker.get_program()).args(worker.get_args());
        contained.current_dir(self.place("elsewhere"));
        contained.envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Started::new(&mut contained, self.place("worker.out"), self.place("worker.err"))
    }

    /// The processes of acquit on it with this word among their arguments, by the numbers that this test sees.
    fn processes(&self, word: &str) -> Vec<u32> {
        let mark = self.place("acquit").to_string_lossy().into_owned();
        let found = processes::marked(&mark).into_iter();
        found.filter(|(_, line)| line.contains(word)).map(|(pid, _)| pid).collect()
    }

    fn worker(&self, more: &[&str]) -> Started {
        let args = ["worker", "--trust-store", "--name", self.name];
        self.start(&args.iter().chain(more).copied().collect::<Vec<_>>())
    }
}

/// What a worker lets programs reach: the folder by which a test talks to them.
fn reaching(sandbox: &Sandbox) -> String {
    format!("[access]\nwrite = [\"{}\"]\n", sandbox.place("").display())
}

/// Where the first task waits, as `acquit workers` tells.
fn waits_at(machine: &Machine<'_>) -> Option<(String, Vec<String>)> {
    let found = machine.acquit(&["workers", "--json"]).must(0).json();
    let leg = found["waiting"].as_array()?.first()?.clone();
    let why = leg["why"].as_array()?.iter().map(|why| why.as_str().unwrap().to_owned()).collect();
    Some((leg["stage"].as_str()?.to_owned(), why))
}

#[test]
fn a_task_passes_between_workers_that_have_no_checkout_and_every_machine_sees_it() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(RELAY, AGENT).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let third = Machine::new(&sandbox, &database, "third", "");
    assert_eq!(waits_at(&third), Some(("first".to_owned(), vec!["no worker runs".to_owned()])));

    let two = Machine::new(&sandbox, &database, "two", "");
    let second = two.worker(&["--labels", "b,os=linux", "--slots", "2"]);
    until("the worker is listed, and it is said what it lacks", || {
        let why = waits_at(&third)?.1;
        (why == ["no worker has the label `a`"]).then_some(())
    });
    // One of them has a role of the database that may run legs, and nothing else.
    let role = Role::new(&database);
    sandbox.acquit(&["store", "grant", &role.name]).must(0).said("rights of a worker");
    let mut one = Machine::new(&sandbox, &database, "one", "");
    one.store = role.url.clone();
    let first = one.worker(&["--labels", "a"]);
    until("the delivery waits for the user's own machine", || {
        let (stage, why) = waits_at(&third)?;
        (stage == "deliver" && why[0].contains("the machine that the task was made on")).then_some(())
    });
    let legs = sandbox.legs();
    let workers: Vec<_> =
        legs.iter().map(|leg| leg.owner.as_ref().and_then(|owner| owner.worker.clone())).collect();
    assert_eq!(workers[..2], [Some("one".to_owned()), Some("two".to_owned())]);

    // A machine that took no part shows the work, what was said, what a gate printed, and files.
    let diff = third.acquit(&["diff", "T-1"]).must(0).out;
    // The second machine got the file that the first one left, and its agent read it.
    assert!(diff.contains("+first") && diff.contains("+from the first"), "{diff}");
    let said = third.acquit(&["logs", "T-1"]).must(0).out;
    assert!(said.contains("I work in"), "{said}");
    assert!(third.acquit(&["logs", "T-1", "--leg", "1"]).must(0).out.contains("I work in"));
    let shown = third.acquit(&["task", "show", "T-1"]).must(0).out;
    let report = shown
        .split_whitespace()
        .find(|word| Path::new(word).extension().is_some_and(|it| it == "log"))
        .unwrap();
    assert!(report.contains("machine-third"), "{shown}");
    assert!(std::fs::read_to_string(report).unwrap().contains("the gate speaks"));

    // The user's own machine delivers what others made.
    sandbox.acquit(&["run", "T-1"]).must(0).said("T-1 is done");
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "first\nfrom the first");
    for machine in [&one, &two] {
        assert!(!machine.place("elsewhere/.git").exists());
    }
    until("the workers have removed their part", || {
        let left = |machine: &Machine<'_>| {
            let stores = std::fs::read_dir(machine.place("acquit/worker/tasks")).unwrap().flatten();
            stores.flat_map(|store| std::fs::read_dir(store.path()).unwrap()).count()
        };
        (left(&one) + left(&two) == 0).then_some(())
    });
    for worker in [first, second] {
        worker.signal(Signal::TERM);
        worker.wait().must(0);
    }
    let left = third.acquit(&["workers", "--json"]).must(0).json();
    assert_eq!(left["workers"].as_array().unwrap().len(), 0, "{left}");
}

/// Two stages on the user's own machine, which alone has the secret, after one on a worker.
const HOME: &str = r#"
[budgets]
config = 0
[stages.first]
mode = "implement"
runs_on = ["a"]
on = { pr_ready = "look" }
[stages.look]
mode = "investigate"
secrets = ["OWN_KEY"]
on = { found = "write" }
[stages.write]
mode = "implement"
secrets = ["OWN_KEY"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Tells whether it finds settings from which coding agents start programs.
const LOOKS: &str = r#"
case $ACQUIT_STAGE in
first) echo work > work.txt ;;
look)
    if [ -e .claude/settings.json ]; then echo found > '@ROOT@/seen'; else echo nothing > '@ROOT@/seen'; fi
    printf '{"outcome": "found", "payload": {"summary": "looked"}}' > "$ACQUIT_HANDOFF" ;;
write) touch '@ROOT@/wrote'; echo more > work.txt ;;
esac
"#;

/// What a worker has checked, it only says. One that lies names any commit as the work, and another as its base.
#[test]
fn a_worker_that_lies_about_tip_and_base_hands_on_no_settings_of_agents() {
    for lies_about_base in [false, true] {
        let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
        let config = "agent = \"bot\"\n[access]\nwrite = [\"@ROOT@\"]\n[agents.bot]\nadapter = \"command\"\n\
                      run = [\"sh\", \".acquit/agent.sh\"]\n[secrets]\nOWN_KEY = { env = \"OWN_KEY\" }\n";
        let files = [
            (".acquit/acquit.toml", config),
            (".acquit/workflows/flow.toml", HOME),
            (".acquit/agent.sh", LOOKS),
        ];
        let sandbox = Sandbox::of_files("fleet", &files).with("ACQUIT_STORE", database.url.clone());
        let sandbox = sandbox.with("OWN_KEY", "own-key-4711-4711");
        sandbox.acquit(&["task", "add", "Do it"]).must(0);
        let one = Machine::new(&sandbox, &database, "one", "");
        let worker = one.worker(&["--labels", "a"]);
        until("the second stage waits", || waits_at(&one).filter(|(stage, _)| stage == "look"));
        worker.signal(Signal::TERM);
        worker.wait().must(0);

        // Objects of any content come with parcels, so the user's repository may as well have them.
        let task = sandbox.task();
        let evil = |parent: &str| {
            let git = |args: &[&str]| sandbox.repo.git(args);
            git(&["read-tree", parent]);
            sandbox.repo.write("settings.json", "{\"hooks\": {}}\n");
            let blob = git(&["hash-object", "-w", "settings.json"]);
            std::fs::remove_file(sandbox.repo.path().join("settings.json")).unwrap();
            git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},.claude/settings.json")]);
            let tree = git(&["write-tree"]);
            git(&["read-tree", "HEAD"]);
            git(&["commit-tree", &tree, "-p", parent, "-m", "work"])
        };
        let (tip, onto) = if lies_about_base {
            let base = evil(task.base());
            let tree = format!("{base}^{{tree}}");
            (sandbox.repo.git(&["commit-tree", &tree, "-p", &base, "-m", "nothing"]), Some(base))
        } else {
            (evil(task.base()), None)
        };
        let onto = onto.map_or_else(|| "'null'".to_owned(), |base| format!("'\"{base}\"'"));
        let lie = format!(
            "update tasks set body = jsonb_set(jsonb_set(body::jsonb, '{{tip}}', '\"{tip}\"'), '{{onto}}', {onto})::text"
        );
        assert_eq!(database.execute(&lie), 1);
        let said = sandbox.acquit(&["run", "T-1"]).must(3);
        assert_eq!(common::read(&sandbox.place("seen")), "nothing\n", "{said}");
        assert!(!sandbox.place("wrote").exists(), "{said}");
        assert!(format!("{said}").contains(".claude/settings.json"), "{said}");
    }
}

#[test]
fn a_machine_that_dies_is_replaced_by_another_from_the_last_handoff() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", &reaching(&sandbox));
    let first = one.worker(&[]);
    until_file(&sandbox.place("began"));
    let harness = sandbox.legs()[0].owner.clone().unwrap();
    assert_eq!(harness.worker.as_deref(), Some("one"));
    first.signal(Signal::KILL);
    processes::signal(harness.pid, Signal::KILL);
    until("the agent went with its harness", || {
        processes::marked(&sandbox.place("began").to_string_lossy()).is_empty().then_some(())
    });
    std::fs::write(sandbox.place("go"), "").unwrap();
    let two = Machine::new(&sandbox, &database, "two", &reaching(&sandbox));
    let second = two.worker(&[]);
    until("the leg is done by the other", || (waits_at(&two)?.0 == "deliver").then_some(()));
    sandbox.acquit(&["run", "T-1"]).must(0);
    let endings = sandbox.endings();
    assert!(
        matches!(endings[..], [Ending::Lost { .. }, Ending::Passed { .. }, Ending::Passed { .. }]),
        "{endings:?}"
    );
    second.signal(Signal::TERM);
    second.wait().must(0);
}

#[test]
fn a_harness_in_another_pid_namespace_is_not_judged_by_its_number() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let inner = Machine::new(&sandbox, &database, "inner", &reaching(&sandbox));
    let contained = inner.contained_worker();
    until_file(&sandbox.place("began"));
    let outer = Machine::new(&sandbox, &database, "outer", &reaching(&sandbox));
    let other = outer.worker(&[]);
    // It patrols when it begins: what it would take for dead it has declared lost by then.
    until("the other one is listed", || {
        let found = outer.acquit(&["workers", "--json"]).must(0).json();
        found["workers"].as_array()?.iter().any(|worker| worker["name"] == "outer").then_some(())
    });
    let late = std::time::Instant::now() + std::time::Duration::from_secs(7);
    until("two patrols", || (std::time::Instant::now() > late).then_some(()));
    let legs = sandbox.legs();
    assert_eq!((legs.len(), legs[0].state), (1, State::Running), "{legs:?}");
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the leg ends well", || (sandbox.legs()[0].state == State::Passed).then_some(()));
    for worker in [contained, other] {
        worker.signal(Signal::TERM);
        drop(worker);
    }
}

#[test]
fn a_harness_elsewhere_that_is_silent_for_longer_than_its_lease_is_replaced_and_refused_when_it_wakes() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let inner = Machine::new(&sandbox, &database, "inner", &reaching(&sandbox));
    let contained = inner.contained_worker();
    until_file(&sandbox.place("began"));
    // With the launchers of its programs, which are processes of the same name.
    let (workers, asleep) = (inner.processes(" worker "), inner.processes(" leg "));
    assert!(!workers.is_empty() && !asleep.is_empty());
    for pid in workers.iter().chain(&asleep) {
        processes::signal(*pid, Signal::STOP);
    }
    let outer = Machine::new(&sandbox, &database, "outer", &reaching(&sandbox));
    let other = outer.worker(&[]);
    until("its lease runs out", || {
        (database.execute("update legs set lease_until = 1 where number = 1 and state = 'running'") == 1)
            .then_some(())
    });
    until("the other takes the leg", || {
        let legs = sandbox.legs();
        (legs.len() == 2 && legs[1].state == State::Running).then_some(())
    });
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the other is done", || (sandbox.legs()[1].state == State::Passed).then_some(()));
    for pid in workers.iter().chain(&asleep) {
        processes::signal(*pid, Signal::CONT);
    }
    until("who woke too late has ended", || asleep.iter().all(|pid| processes::is_over(*pid)).then_some(()));
    let states: Vec<State> = sandbox.legs().iter().map(|leg| leg.state).collect();
    assert_eq!(states, [State::Lost, State::Passed, State::Ready]);
    let parcels =
        database.execute("delete from parcel_parts where parcel in (select id from parcels where leg = 1)");
    assert_eq!(parcels, 0, "what it sent was taken");
    sandbox.acquit(&["run", "T-1"]).must(0);
    drop(contained);
    other.signal(Signal::TERM);
    other.wait().must(0);
}

#[test]
fn a_task_that_waits_for_a_label_that_nobody_has_can_be_cancelled() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(RELAY, AGENT).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0).said("cancelled");
    assert!(matches!(sandbox.endings()[..], [Ending::Cancelled]), "{:?}", sandbox.endings());
    assert_eq!(waits_at(&Machine::new(&sandbox, &database, "third", "")), None);
}

#[test]
fn a_machine_without_the_agent_leaves_a_leg_to_a_worker_that_has_it() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"slowbot\"]\n";
    let sandbox = Sandbox::shell_by(config, SLOW, "").with("ACQUIT_STORE", database.url.clone());
    for title in ["One", "Two"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let one = Machine::new(&sandbox, &database, "one", &reaching(&sandbox));
    let bot = one.place("bin/slowbot");
    acquit_testkit::repo::write(&bot, &sandbox.fill(&format!("#!/bin/sh\n{WAITS}")));
    let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&bot, runs).unwrap();
    let mut command = one.command(&["worker", "--trust-store", "--name", "one", "--slots", "1"]);
    let path = "/usr/local/bin:/usr/bin:/bin";
    command.env("PATH", format!("{}:{path}", one.place("bin").display()));
    let worker = Started::new(&mut command, one.place("worker.out"), one.place("worker.err"));
    until_file(&sandbox.place("began"));
    // The second task waits for the only slot of the worker, and nobody here takes it away to fail with it.
    sandbox.acquit(&["leg", "--once"]).must(0);
    let legs = |task: &str| sandbox.acquit(&["task", "show", task, "--json"]).must(0).json()["legs"].clone();
    assert_eq!(legs("T-2")[0]["state"], "ready", "{}", legs("T-2"));
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the worker does both", || {
        ["T-1", "T-2"].iter().all(|task| legs(task)[0]["state"] == "passed").then_some(())
    });
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn a_worker_that_is_stopped_finishes_its_leg_or_gives_it_back() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    for finishes in [true, false] {
        let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
        let number = if finishes { 1 } else { 2 };
        let task = format!("T-{number}");
        sandbox.acquit(&["task", "add", "Do it"]).must(0).said(&task);
        let one = Machine::new(&sandbox, &database, "one", &reaching(&sandbox));
        let worker = one.worker(&[]);
        until_file(&sandbox.place("began"));
        worker.signal(Signal::TERM);
        until("it says that it waits", || worker.err().contains("stops when 1 legs are over").then_some(()));
        if finishes {
            std::fs::write(sandbox.place("go"), "").unwrap();
        } else {
            worker.signal(Signal::TERM);
        }
        worker.wait().must(0);
        let legs = one.acquit(&["task", "show", &task, "--json"]).must(0).json()["legs"].clone();
        let legs: Vec<acquit_core::leg::Leg> = serde_json::from_value(legs).unwrap();
        let states: Vec<State> = legs.iter().map(|leg| leg.state).collect();
        let expected = if finishes { [State::Passed, State::Ready] } else { [State::Lost, State::Ready] };
        assert_eq!(states, expected);
        // The next pass of this test must not find it.
        one.acquit(&["cancel", &task]);
    }
}

#[test]
fn a_worker_says_what_keeps_it_from_beginning() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS);
    sandbox.acquit(&["worker", "--trust-store"]).must(2).said("is a file");
    let one = Machine::new(&sandbox, &database, "one", "");
    one.acquit(&["worker"]).must(2).said("--trust-store");
    one.acquit(&["worker", "--trust-store", "--labels", "a b"]).must(2).said("use the label");
    let running = one.worker(&[]);
    until("it is listed", || {
        let found = one.acquit(&["workers", "--json"]).must(0).json();
        (found["workers"][0]["name"] == "one").then_some(())
    });
    let twin = Machine::new(&sandbox, &database, "twin", "");
    twin.acquit(&["worker", "--trust-store", "--name", "one"]).must(2).said("another one is called one");
    // Of one that was killed on the same machine it is free at once.
    running.signal(Signal::KILL);
    running.wait();
    let heir = one.worker(&[]);
    until("it has taken the name", || heir.err().contains("one takes up to 1 legs").then_some(()));
    heir.signal(Signal::TERM);
    heir.wait().must(0);
}
