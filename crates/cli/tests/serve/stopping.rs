//! The daemon as a process: it stops when asked, leaves legs alone, waits for them if it shall, and costs nothing while nothing is due.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::SHIFT;
use crate::common::{SCRIPTED, Sandbox, read, until, until_file};

/// Work that goes on until the test lets it.
const WAITS: &str = r#"
[[analyze]]
step = [ { run = "touch '@ROOT@/began'; while [ ! -e '@ROOT@/go' ]; do sleep 0.05; done" }, { outcome = "no_improvement", payload = { summary = "x" } } ]
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(SCRIPTED, SHIFT, WAITS);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox
}

#[test]
fn a_task_that_was_added_is_run_by_the_daemon_and_outlives_it() {
    let sandbox = sandbox();
    let daemon = sandbox.start(&["serve"]);
    until_file(&sandbox.place("began"));
    daemon.signal(Signal::TERM);
    let begun = Instant::now();
    daemon.wait().must(0).said("stops; 1 tasks go on by themselves");
    assert!(begun.elapsed() < Duration::from_secs(5));
    // Another one takes it as it is.
    let daemon = sandbox.start(&["serve"]);
    until("its first look", || daemon.err().contains("looks after").then_some(()));
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the task's end", || (sandbox.task().state.word() == "no_improvement").then_some(()));
    daemon.signal(Signal::INT);
    daemon.wait().must(0);
    let legs = sandbox.legs();
    assert!(legs.iter().all(|leg| leg.state == acquit_core::leg::State::Passed), "none was lost: {legs:?}");
}

#[test]
fn the_daemon_keeps_to_the_limits_of_a_project() {
    const ALONE: &str = r#"
[[analyze]]
step = [
    { run = "exec 9>> '@ROOT@/lock'; flock -n 9 || echo $ACQUIT_TASK >> '@ROOT@/doubled'; sleep 0.5" },
    { outcome = "no_improvement", payload = { summary = "x" } },
]
"#;
    let sandbox = Sandbox::new(&format!("at_once = 1\n{SCRIPTED}"), SHIFT, ALONE);
    for title in ["One", "Two", "Three"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let daemon = sandbox.start(&["serve"]);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let open = "select count(*) from tasks where not ended";
    until("the end of all", || (store.query_row(open, [], |row| row.get(0)) == Ok(0)).then_some(()));
    assert_eq!(read(&sandbox.place("doubled")), "", "legs ran beside each other");
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn a_daemon_that_drains_waits_for_its_legs() {
    let sandbox = sandbox();
    let daemon = sandbox.start(&["serve", "--drain"]);
    until_file(&sandbox.place("began"));
    daemon.signal(Signal::TERM);
    until("that it heard", || daemon.err().contains("waits for 1 tasks").then_some(()));
    std::fs::write(sandbox.place("go"), "").unwrap();
    daemon.wait().must(0);
    assert_ne!(sandbox.task().state.word(), "working");
}

/// The dead children of a process that it has not reaped.
fn zombies_of(parent: u32) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_one = |stat: &String| {
        let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
        rest.starts_with(&format!("Z {parent} "))
    };
    stats.filter(is_one).collect()
}

#[test]
fn a_harness_that_is_killed_is_found_and_its_task_goes_on() {
    let sandbox = sandbox();
    let daemon = sandbox.start(&["serve"]);
    until_file(&sandbox.place("began"));
    let owner = sandbox.legs()[0].owner.clone().unwrap();
    crate::common::processes::signal(owner.pid, Signal::KILL);
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the task's end", || (sandbox.task().state.word() == "no_improvement").then_some(()));
    assert_eq!(sandbox.legs()[0].state, acquit_core::leg::State::Lost);
    until("the daemon reaps what has died", || zombies_of(daemon.pid()).is_empty().then_some(()));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn a_harness_that_is_stopped_for_longer_than_its_lease_is_replaced_and_ended() {
    let sandbox = sandbox();
    let daemon = sandbox.start(&["serve"]);
    until_file(&sandbox.place("began"));
    let owner = sandbox.legs()[0].owner.clone().unwrap();
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let expire = || {
        store.execute("update legs set lease_until = 1 where number = 1 and state = 'running'", []).unwrap()
    };
    // One that only looks late is left alone.
    assert_eq!(expire(), 1);
    let late = Instant::now() + Duration::from_secs(6);
    until("a round of the patrol", || (Instant::now() > late).then_some(()));
    assert_eq!(sandbox.legs()[0].state, acquit_core::leg::State::Running);
    crate::common::processes::signal(owner.pid, Signal::STOP);
    expire();
    until("the leg is lost", || (sandbox.legs()[0].state == acquit_core::leg::State::Lost).then_some(()));
    until("its harness is ended", || crate::common::processes::is_over(owner.pid).then_some(()));
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the task's end", || (sandbox.task().state.word() == "no_improvement").then_some(()));
    let why = match &sandbox.endings()[0] {
        acquit_core::leg::Ending::Lost { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(why.contains("was stopped for longer than its lease"), "{why}");
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn no_harness_that_was_stopped_for_too_long_stays_when_the_daemon_that_replaces_it_is_killed() {
    let sandbox = sandbox();
    sandbox.acquit(&["task", "add", "Do more"]).must(0);
    let daemon = sandbox.start(&["serve"]);
    let owners = || -> Option<Vec<u32>> {
        let legs = ["T-1", "T-2"].map(|task| {
            let legs = sandbox.acquit(&["task", "show", task, "--json"]).must(0).json()["legs"].clone();
            serde_json::from_value::<Vec<acquit_core::leg::Leg>>(legs).unwrap()
        });
        legs.iter().map(|legs| Some(legs.first()?.owner.as_ref()?.pid)).collect()
    };
    let harnesses = until("both run", owners);
    until_file(&sandbox.place("began"));
    daemon.signal(Signal::KILL);
    daemon.wait();
    for pid in &harnesses {
        crate::common::processes::signal(*pid, Signal::STOP);
    }
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    assert_eq!(store.execute("update legs set lease_until = 1 where state = 'running'", []).unwrap(), 2);
    let marker = sandbox.place("marker");
    let mut daemon = sandbox.command(&["serve", "--once"]);
    daemon.env("ACQUIT_FAULT", format!("lost:1:{}", marker.display()));
    assert!(!daemon.output().unwrap().status.success(), "it is killed right after its commit");
    until("both harnesses are ended", || {
        harnesses.iter().all(|pid| crate::common::processes::is_over(*pid)).then_some(())
    });
    std::fs::write(sandbox.place("go"), "").unwrap();
    sandbox.acquit(&["serve", "--once"]).must(0);
    for task in ["T-1", "T-2"] {
        let legs = sandbox.acquit(&["task", "show", task, "--json"]).must(0).json()["legs"].clone();
        assert_eq!((&legs[0]["state"], &legs[1]["state"]), (&"lost".into(), &"passed".into()), "{legs}");
    }
}

#[test]
fn a_task_whose_harness_cannot_be_started_keeps_no_other_from_its_turn() {
    let sandbox = sandbox();
    sandbox.acquit(&["task", "add", "Do more"]).must(0);
    std::fs::write(sandbox.place("go"), "").unwrap();
    // Something is where the folder of the first should be: for a while, as on a disk that is full.
    let folder = sandbox.place("acquit/tasks/T-1");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    std::fs::write(&folder, "").unwrap();
    let daemon = sandbox.start(&["serve"]);
    let state = |task: &str| {
        let shown = sandbox.acquit(&["task", "show", task, "--json"]).must(0).json();
        shown["task"]["state"]["end"]["type"].as_str().map(str::to_owned)
    };
    until("the end of the other", || state("T-2"));
    assert!(daemon.err().contains("T-1: its harness was not started"), "{}", daemon.err());
    std::fs::remove_file(&folder).unwrap();
    until("its own end", || state("T-1"));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn an_idle_daemon_costs_next_to_nothing() {
    let sandbox = Sandbox::new(SCRIPTED, SHIFT, WAITS);
    let daemon = sandbox.start(&["serve"]);
    until("its first look", || daemon.err().contains("looks after").then_some(()));
    let used = || {
        let stat = read(std::path::Path::new(&format!("/proc/{}/stat", daemon.pid())));
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        fields.iter().sum::<u64>()
    };
    let before = used();
    std::thread::sleep(Duration::from_secs(5));
    // In ticks of a hundredth of a second: two percent of one processor would be ten.
    let ticks = used() - before;
    assert!(ticks <= 10, "{ticks} ticks in five seconds");
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}
