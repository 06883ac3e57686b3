//! What holds when every task is over, whatever happened on the way.
#![allow(clippy::disallowed_macros, reason = "a test that counts says what it counted")]

use std::collections::{BTreeMap, BTreeSet};

use acquit_core::leg::Ending;
use acquit_core::task::Task;
use acquit_testkit::history::History;

use super::{COST, Fleet, Worker};
use crate::common::{processes, read, until};
use crate::kills::left;

/// Checks everything, and prints how much that was.
pub(super) fn everything(fleet: &mut Fleet<'_>, tasks: u32) {
    ends(fleet, tasks);
    messages(fleet, tasks);
    // Workers remove what they have of tasks that are done.
    until("the workers have removed their part", || {
        fleet.workers.iter().all(|worker| folders(fleet, worker) == 0).then_some(())
    });
    fleet.end();
    let (lost, lines) = legs(fleet, tasks);
    merges(fleet, &lines);
    let checked = history(fleet);
    nothing_left(fleet);
    println!("{tasks} tasks done; {lost} legs lost and run again; history: {checked}");
}

/// Every task is done, and its legs ended as in an undisturbed run, beside those that were lost.
fn ends(fleet: &Fleet<'_>, tasks: u32) {
    let open = fleet.count("select count(*) from tasks where state <> 'done'");
    assert_eq!((fleet.done(), open), (i64::from(tasks), 0));
    let active = fleet.count("select count(*) from legs where state in ('ready', 'running')");
    assert_eq!(active, 0, "legs are left");
}

/// Returns how many legs were lost, and the lines that each task's agents have written: one for each stage.
fn legs(fleet: &Fleet<'_>, tasks: u32) -> (usize, Vec<String>) {
    let rows = fleet.pair.client().query("select body from tasks order by id", &[]).expect("tasks");
    assert_eq!(rows.len(), tasks as usize);
    let (mut lost, mut paid) = (0, 0);
    let mut lines = Vec::new();
    for row in rows {
        let task: Task = serde_json::from_str(row.get(0)).expect("a task");
        let (mut stages, mut written) = (Vec::new(), Vec::new());
        let mut cost = 0;
        for past in &task.past {
            match &past.ending {
                Ending::Lost { .. } => lost += 1,
                // It waited for the merge queue, or its gate was killed twice.
                Ending::Held { .. } => {}
                Ending::Passed { outcome } => {
                    stages.push(format!("{} {}", past.entry.stage, outcome.name));
                    written.push(past.entry.stage.as_str());
                    cost += past.usage.cost_micros.unwrap_or(0);
                }
                // Its agent was killed.
                Ending::Failed { .. } if fleet.kills => {}
                other => panic!("{}: {other:?}", task.id()),
            }
        }
        assert_eq!(stages, ["write pr_ready", "extend pr_ready", "merge done"], "{}", task.id());
        let costs: Vec<u64> = task.past.iter().map(|past| past.usage.cost_micros.unwrap_or(0)).collect();
        assert!(costs.iter().all(|cost| *cost <= COST), "{}: a leg was paid for twice: {costs:?}", task.id());
        // Where an agent was killed, or a gate twice, the attempt that was paid for is one that did not count.
        assert!(
            cost == 2 * COST || fleet.kills,
            "{} cost something else than its stages: {costs:?}",
            task.id()
        );
        paid += costs.iter().sum::<u64>();
        written.retain(|stage| *stage != "merge");
        lines.push(written.join("\n"));
    }
    let sum = fleet.count("select coalesce(sum(cost), 0)::bigint from tasks");
    assert_eq!(u64::try_from(sum), Ok(paid), "the tasks cost something else than their legs");
    let fences = "select count(*) - count(distinct fence) from legs where fence is not null";
    assert_eq!(fleet.count(fences), 0, "a fence was given twice");
    let doubled: BTreeSet<String> =
        read(&fleet.sandbox.place("doubled")).lines().map(str::to_owned).collect();
    let unexplained: Vec<&String> = doubled.difference(&fleet.slept).collect();
    assert!(unexplained.is_empty(), "two agents worked on {unexplained:?} at the same time");
    (lost, lines)
}

/// The branch has every task's work once.
fn merges(fleet: &Fleet<'_>, lines: &[String]) {
    let git = |args: &[&str]| fleet.sandbox.repo.git(args);
    let trailers = git(&["log", "--no-merges", "--format=%(trailers:key=Task,valueonly)", "main"]);
    let mut merged: BTreeMap<&str, u32> = BTreeMap::new();
    for task in trailers.lines().filter(|line| !line.is_empty()) {
        *merged.entry(task).or_default() += 1;
    }
    let twice: Vec<_> = merged.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "merged more than once: {twice:?}");
    assert_eq!(merged.len(), lines.len(), "{merged:?}");
    for (number, written) in (1..).zip(lines) {
        assert_eq!(git(&["show", &format!("main:work/T-{number}.txt")]), *written, "T-{number}");
    }
    assert_eq!(git(&["fsck", "--no-dangling"]), "");
    assert_eq!(git(&["status", "--porcelain"]), "");
}

/// One message for each task. One that was sent again, because who sent it died, is known by its id.
fn messages(fleet: &Fleet<'_>, tasks: u32) {
    let ids = || -> BTreeSet<String> {
        fleet.told.received().iter().map(|one| one.header("acquit-id").to_owned()).collect()
    };
    if fleet.kills {
        // A daemon that was killed while it sent one held it, for minutes: nobody waits for that here.
        let free = "update outbox set due = 0, lease_until = null where state = 'waiting'";
        fleet.pair.client().execute(free, &[]).expect("the outbox");
    }
    until("every message was sent", || (ids().len() >= tasks as usize).then_some(()));
    assert_eq!(ids().len(), tasks as usize, "{:?}", ids());
}

/// Returns what the checker counted.
fn history(fleet: &Fleet<'_>) -> String {
    let text = read(&fleet.sandbox.place("history"));
    let history = History::read(&text).unwrap_or_else(|wrong| panic!("{wrong}"));
    let checked = history.check().unwrap_or_else(|wrong| panic!("{wrong}"));
    // Each task has three legs, so each was claimed and ended three times at least.
    assert!(checked.claims >= 3 * checked.tasks && checked.ends >= checked.tasks, "{checked:?}");
    format!("{checked:?}")
}

fn folders(fleet: &Fleet<'_>, worker: &Worker<'_>) -> usize {
    let tasks = worker.place(fleet.sandbox, "acquit/worker/tasks");
    let stores = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    stores.flat_map(|store| std::fs::read_dir(store.path()).into_iter().flatten().flatten()).count()
}

/// No process, no mount, no temporary file.
fn nothing_left(fleet: &Fleet<'_>) {
    let root = fleet.sandbox.place("").to_string_lossy().into_owned();
    until("no process is left", || processes::marked(&root).is_empty().then_some(()));
    assert!(
        !read(std::path::Path::new("/proc/mounts")).contains(root.trim_end_matches('/')),
        "a mount is left"
    );
    fleet.sandbox.acquit(&["clean"]).must(0);
    let mut found = left(fleet.sandbox);
    for worker in &fleet.workers {
        let tmp = std::fs::read_dir(worker.place(fleet.sandbox, "tmp")).into_iter().flatten().flatten();
        found.extend(tmp.map(|entry| entry.path().display().to_string()));
    }
    assert!(found.is_empty(), "left behind: {found:#?}");
}
