//! The merge queue: many tasks, several workers, one branch.

use std::collections::BTreeSet;

use crate::common::{Ran, Sandbox, Started};
use crate::{CHECK, merging, on_main, sandbox};

/// An agent that does what its task's title says: a line of shell.
const AGENT: &str = "title=$(sed -n 's/^DO //p' | head -n 1)\nsh -c \"$title\"\n";

/// A repository whose agent does what the title of its task says.
fn busy(workflow: &str, more: &str) -> Sandbox {
    let config = format!(
        "{more}agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n"
    );
    let sandbox = Sandbox::new(&config, workflow, "");
    sandbox.repo.write(".acquit/agent.sh", AGENT);
    sandbox.repo.write("check.sh", CHECK);
    for file in 0..4 {
        let lines: Vec<String> = (0..60).map(|line| format!("line {line}")).collect();
        sandbox.repo.write(&format!("file{file}.txt"), &(lines.join("\n") + "\n"));
    }
    sandbox.repo.commit("first");
    sandbox
}

fn add(sandbox: &Sandbox, shell: &str) -> Ran {
    sandbox.acquit(&["task", "add", "Do it", "--description", &format!("DO {shell}")]).must(0)
}

/// Works as a worker does: leg after leg, until there is nothing to do.
fn work(sandbox: &Sandbox, workers: usize) {
    let mut running: Vec<Started> = Vec::new();
    let open = || {
        let list = sandbox.acquit(&["task", "list", "--json", "--limit", "1000"]).must(0).json();
        let states: Vec<String> =
            list.as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap().to_owned()).collect();
        states.iter().filter(|state| ["ready", "working"].iter().any(|word| *state == *word)).count()
    };
    loop {
        let left = open();
        if left == 0 && running.is_empty() {
            return;
        }
        while running.len() < workers.min(left.max(1)) {
            running.push(sandbox.start(&["leg"]));
        }
        running.remove(0).wait_within(std::time::Duration::from_mins(2)).must(0);
    }
}

/// Every state that main was in is green, and every change is in it once.
fn check_main(sandbox: &Sandbox, base: &str, wanted: &BTreeSet<String>) {
    let states = sandbox.repo.git(&["rev-list", "--first-parent", &format!("{base}..main")]);
    let tree = sandbox.place("look");
    sandbox.repo.git(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap(), "main"]);
    for state in states.lines() {
        acquit_testkit::repo::git(&tree, &["checkout", "-q", "--detach", state]);
        let green = std::process::Command::new("sh").arg("check.sh").current_dir(&tree).status().unwrap();
        assert!(green.success(), "main was red at {state}");
    }
    sandbox.repo.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    let lines = sandbox.repo.git(&[
        "log",
        "--no-merges",
        "--format=%(trailers:key=Task,valueonly)",
        &format!("{base}..main"),
    ]);
    let tasks: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
    let set: BTreeSet<String> = tasks.iter().map(|task| (*task).to_owned()).collect();
    assert_eq!(tasks.len(), set.len(), "each once: {tasks:?}");
    assert_eq!(set, *wanted);
}

fn states(sandbox: &Sandbox) -> Vec<(String, String)> {
    let list = sandbox.acquit(&["task", "list", "--json", "--limit", "1000"]).must(0).json();
    let text = |task: &serde_json::Value, key: &str| task[key].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|task| (text(task, "id"), text(task, "state"))).collect()
}

#[test]
fn a_merge_stage_brings_the_work_into_the_branch() {
    let script =
        "[[code]]\nstep = [ { write = \"work.txt\", content = \"work\\n\" }, { outcome = \"pr_ready\" } ]\n";
    let sandbox = sandbox(&merging(), script);
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    sandbox.run_to(0).said("merged into main");
    check_main(&sandbox, &base, &["T-1".to_owned()].into());
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.repo.git(&["rev-parse", "main"]),
        sandbox.repo.git(&["rev-parse", &sandbox.task().seed.branch])
    );
}

#[test]
fn a_task_that_is_bound_never_merges_by_itself() {
    let script =
        "[[code]]\nstep = [ { write = \"work.txt\", content = \"work\\n\" }, { outcome = \"pr_ready\" } ]\n";
    let sandbox = sandbox(&merging(), script);
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    sandbox.acquit(&["run", "Do it", "--tag", "irreversible"]).must(3).said("cannot be undone");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), base);
    sandbox.acquit(&["approve", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    check_main(&sandbox, &base, &["T-1".to_owned()].into());
}

/// A workflow whose merges are gated by something that waits for the test.
fn slow() -> String {
    merging()
        .replace("[gates.test]", "[gates.slow]\nrun = \"while [ ! -e @ROOT@/go ]; do sleep 0.05; done; sh check.sh\"\nkind = \"test\"\n[gates.test]")
        .replace("action = \"merge\"", "action = \"merge\"\ngates = [\"slow\"]")
        .replace("[gates.slow]", "budgets = { test = 0 }\n[gates.slow]")
        .replace("fix = \"mend\"\n", "")
        .replace("[stages.mend]\nmode = \"fix\"\non = { fixed = \"back\" }\n", "")
}

/// Lets tasks come to the queue while its first head is held up, and then lets it go on.
fn crowd(sandbox: &Sandbox, tasks: usize) {
    let marker = sandbox.place("entered");
    let mut running = Vec::new();
    for number in 0..tasks {
        running.push(sandbox.start(&["leg"]));
        // One after the other, so that the first to come is the first in the queue.
        crate::common::until("it is in the queue", || {
            (std::fs::metadata(&marker).is_ok_and(|file| file.len() > number as u64)).then_some(())
        });
    }
    std::fs::write(sandbox.place("go"), "").unwrap();
    for leg in running {
        leg.wait_within(std::time::Duration::from_mins(2)).must(0);
    }
    // Whoever waited for long has let its process go, and comes again.
    work(sandbox, 1);
}

#[test]
fn nobody_waits_for_long_as_a_process_and_who_let_go_is_merged_by_the_head() {
    let sandbox = crowded("");
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    for number in 0..2 {
        add(&sandbox, &format!("echo {number} > new{number}.txt"));
    }
    let marker = sandbox.place("entered");
    let entered = |count: u64| {
        crate::common::until("it is in the queue", || {
            std::fs::metadata(&marker).is_ok_and(|file| file.len() >= count).then_some(())
        });
    };
    let head = sandbox.start(&["leg"]);
    entered(1);
    let waits = sandbox.start(&["leg"]);
    entered(2);
    // The head is held up by its gate, and the other leg ends all the same.
    waits.wait().must(0);
    let task = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    assert_eq!(
        task["legs"].as_array().unwrap().iter().filter(|leg| leg["state"] == "held").count(),
        1,
        "{task}"
    );
    std::fs::write(sandbox.place("go"), "").unwrap();
    head.wait().must(0);
    let after = std::time::Instant::now();
    work(&sandbox, 1);
    assert!(after.elapsed() < std::time::Duration::from_secs(45), "woken, and not due after a minute");
    check_main(&sandbox, &base, &["T-1", "T-2"].map(str::to_owned).into());
}

fn crowded(more: &str) -> Sandbox {
    let sandbox = busy(&slow(), more);
    // Grows with every candidate that enters; nobody is killed.
    let marker = format!("merge-entered:999:{}", sandbox.place("entered").display());
    sandbox.with("ACQUIT_FAULT", marker)
}

#[test]
fn those_who_wait_are_tested_together_and_land_as_one() {
    let sandbox = crowded("");
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    for number in 0..5 {
        add(&sandbox, &format!("echo {number} > new{number}.txt"));
    }
    crowd(&sandbox, 5);
    let all = (1..=5).map(|number| format!("T-{number}")).collect();
    check_main(&sandbox, &base, &all);
    let states = sandbox.repo.git(&["log", "--first-parent", "--format=%s", &format!("{base}..main")]);
    assert_eq!(states, "Merge T-2, T-3, T-4, T-5\nDo it", "the first alone, the others together");
    assert_eq!(
        sandbox.repo.git(&["rev-parse", "main^2"]),
        sandbox.repo.git(&["rev-parse", "main^2^{commit}"])
    );
}

#[test]
fn a_batch_that_is_red_is_halved_until_the_culprit_is_alone() {
    let sandbox = crowded("");
    let base = on_main(&sandbox, "check.sh", "test $(ls limited* 2>/dev/null | wc -l) -lt 2\n");
    for number in 0..5 {
        // The second and the fourth are green alone and red together.
        let name = if number % 2 == 1 { format!("limited{number}") } else { format!("new{number}") };
        add(&sandbox, &format!("echo {number} > {name}.txt"));
    }
    crowd(&sandbox, 5);
    let merged = ["T-1", "T-2", "T-3", "T-5"].map(str::to_owned).into();
    check_main(&sandbox, &base, &merged);
    let rejected = states(&sandbox).into_iter().find(|(id, _)| id == "T-4").unwrap();
    assert_eq!(rejected.1, "waiting");
}

#[test]
fn a_batch_of_one_keeps_the_history_linear() {
    let sandbox = busy(&slow(), "");
    let path = ".acquit/acquit.toml";
    let config = crate::common::read(&sandbox.repo.path().join(path));
    sandbox.repo.write(path, &format!("{config}\n[merge]\nbatch = 1\n"));
    sandbox.repo.commit("one at a time");
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    let marker = format!("merge-entered:999:{}", sandbox.place("entered").display());
    let sandbox = sandbox.with("ACQUIT_FAULT", marker);
    for number in 0..3 {
        add(&sandbox, &format!("echo {number} > new{number}.txt"));
    }
    crowd(&sandbox, 3);
    check_main(&sandbox, &base, &["T-1", "T-2", "T-3"].map(str::to_owned).into());
    assert_eq!(sandbox.repo.git(&["rev-list", "--merges", "--count", &format!("{base}..main")]), "0");
}

#[test]
fn heavy_forty_tasks_four_workers_and_one_queue_leave_a_branch_that_was_always_green() {
    // Some change the same lines, some the same files, some nothing in common; some are red together with others.
    let workflow = merging()
        .replace("conflict = \"resolve\"\n", "")
        .replace("[stages.resolve]\nmode = \"resolve\"\non = { resolved = \"back\" }\n", "")
        .replace("fix = \"mend\"\n", "")
        .replace("[stages.mend]\nmode = \"fix\"\non = { fixed = \"back\" }\n", "")
        .replace("[gates.test]", "budgets = { test = 0 }\n[gates.test]");
    let sandbox = busy(&workflow, "sandbox = \"off\"\n");
    // The gate: no two tasks may set the same key, and nothing is broken.
    let check = "set -e\n! grep -rq broken --include=*.txt .\ntest -z \"$(cat keys/* 2>/dev/null | sort | uniq -d)\"\n";
    let base = on_main(&sandbox, "check.sh", check);
    for number in 0..40 {
        let line = number + 5;
        let shell = match number % 10 {
            // Each changes a line of its own in a file of all.
            0..=5 => format!("sed -i 's/^line {line}$/line {line} by {number}/' file{}.txt", number % 4),
            // Both of a pair set the same key in files of their own: each is green alone, together they are red.
            6 | 7 => format!("mkdir -p keys; echo key{} > keys/{number}", number / 10),
            // These two change the same line: the second finds a conflict.
            _ => format!("sed -i 's/^line 1$/line 1 by {number}/' file{}.txt", number / 10),
        };
        add(&sandbox, &shell);
    }
    work(&sandbox, 4);
    let states = states(&sandbox);
    let merged: BTreeSet<String> =
        states.iter().filter(|(_, state)| state == "done").map(|(id, _)| id.clone()).collect();
    // Of each pair of keys and of each pair of lines one is merged; the others wait for a person.
    assert_eq!(merged.len(), 32, "{states:?}");
    let known = ["done", "waiting", "blocked"];
    assert!(states.iter().all(|(_, state)| known.contains(&state.as_str())), "{states:?}");
    check_main(&sandbox, &base, &merged);
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
}
