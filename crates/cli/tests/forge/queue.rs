//! Many tasks, two workers, and a forge that merges them: its branch was always green, and has every accepted change once.

use std::collections::BTreeSet;
use std::time::Duration;

use acquit_testkit::forge::Dialect;
use acquit_testkit::repo;

use crate::common::Started;
use crate::world::World;

const WORKFLOW: &str = r#"
budgets = { test = 0 }
[gates.check]
run = "test -z \"$(cat keys/* 2>/dev/null | sort | uniq -d)\""
kind = "test"
[stages.many]
mode = "implement"
gates = ["check"]
on = { pr_ready = "merge" }
[stages.merge]
kind = "action"
action = "merge"
on = { done = "done" }
"#;

fn states(world: &World) -> Vec<(String, String)> {
    let list = world.sandbox.acquit(&["task", "list", "--json", "--limit", "100"]).must(0).json();
    let text = |task: &serde_json::Value, key: &str| task[key].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|task| (text(task, "id"), text(task, "state"))).collect()
}

/// Works as workers do, leg after leg, until there is nothing to do.
fn work(world: &World, workers: usize) {
    let mut running: Vec<Started> = Vec::new();
    loop {
        let left =
            states(world).iter().filter(|(_, state)| ["ready", "working"].contains(&state.as_str())).count();
        if left == 0 && running.is_empty() {
            return;
        }
        while running.len() < workers.min(left.max(1)) {
            running.push(world.sandbox.start(&["leg"]));
        }
        running.remove(0).wait_within(Duration::from_mins(2)).must(0);
    }
}

/// Eight tasks: each is green alone, two are red together, two change the same.
fn eight(dialect: Dialect) {
    let world = World::with_config(dialect, WORKFLOW, "", "sandbox = \"off\"\n");
    let base = world.forge.branch("acme/widget", "main").unwrap();
    for _ in 0..8 {
        world.sandbox.acquit(&["task", "add", "Do it"]).must(0);
    }
    work(&world, 2);
    let states = states(&world);
    let done: BTreeSet<String> =
        states.iter().filter(|(_, state)| state == "done").map(|(id, _)| id.clone()).collect();
    assert_eq!(done.len(), 6, "{states:?}");
    let bare = world.forge.repository("acme/widget");
    let log = repo::git(&bare, &["log", "--format=%(trailers:key=Task,valueonly)", &format!("{base}..main")]);
    let tasks: Vec<String> = log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let set: BTreeSet<String> = tasks.iter().cloned().collect();
    assert_eq!((tasks.len(), &set), (6, &done), "each once, and nothing else: {tasks:?}");
    for state in repo::git(&bare, &["rev-list", "--first-parent", &format!("{base}..main")]).lines() {
        let keys = repo::git(&bare, &["ls-tree", "-r", "--name-only", state, "keys"]);
        assert!(keys.lines().count() < 2, "main was red at {state}: {keys}");
    }
    for task in &done {
        let number = task.trim_start_matches("T-");
        assert_eq!(repo::git(&bare, &["show", &format!("main:file{number}.txt")]), number);
    }
    let merged = world.forge.pulls().iter().filter(|pull| pull.state == "merged").count();
    assert_eq!(merged, 6);
}

#[test]
fn heavy_eight_tasks_two_workers_and_github() {
    eight(Dialect::GitHub);
}

/// The queue is acquit's own; how GitLab is asked to merge is shown one task at a time, in `merging`.
#[test]
fn soak_heavy_eight_tasks_two_workers_and_gitlab() {
    eight(Dialect::GitLab);
}
