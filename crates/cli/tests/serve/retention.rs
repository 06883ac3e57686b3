//! Workspaces that nobody needs go, by a rule, after everything in them is saved; those that somebody needs stay.

use rustix::process::Signal;

use crate::SHIFT;
use crate::common::{SCRIPTED, Sandbox, processes, until, until_file};

/// Leaves work in the tree that no commit has, and fails.
const FAILS: &str = r#"
[[only]]
step = [ { write = "left.txt", content = "worth keeping\n" }, { outcome = "no_such_outcome", payload = { summary = "x" } } ]
"#;

const ONE: &str = r#"
[budgets]
outcome = 0
agent = 0
nothing = 0
harness = 9
[stages.only]
mode = "implement"
on = { pr_ready = "done", failed = "failed" }
"#;

fn failed(retention: &str) -> Sandbox {
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{retention}"), ONE, FAILS);
    sandbox.run_to(1);
    assert!(workspace(&sandbox).exists(), "it may be tried again");
    sandbox
}

fn workspace(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.place("acquit/tasks/T-1/workspace")
}

/// The file that the failed attempt left, from the refs that keep it.
fn saved(sandbox: &Sandbox) -> bool {
    sandbox.refs("refs/acquit/attempts").iter().any(|name| {
        let path = format!("{name}:left.txt");
        acquit_testkit::repo::git_succeeds(sandbox.repo.path(), &["cat-file", "-e", &path])
    })
}

#[test]
fn the_workspace_of_a_failed_task_stays_for_its_time_and_is_saved_before_it_goes() {
    let sandbox = failed("");
    let listed = sandbox.acquit(&["clean", "--json"]).must(0).json();
    assert_eq!((&listed[0]["task"], &listed[0]["workspace"]), (&"T-1".into(), &"stays".into()), "{listed}");
    assert!(listed[0]["bytes"].as_u64().unwrap() > 0 && workspace(&sandbox).exists());
    let config = std::fs::read_to_string(sandbox.repo.path().join(".acquit/acquit.toml")).unwrap();
    sandbox.repo.write(".acquit/acquit.toml", &format!("{config}\n[retention]\nunfinished = \"1ms\"\n"));
    sandbox.acquit(&["clean", "--dry-run"]).must(0).said("would go");
    assert!(workspace(&sandbox).exists());
    sandbox.acquit(&["clean"]).must(0).said("removed");
    assert!(!workspace(&sandbox).exists() && !sandbox.place("acquit/tasks/T-1/agent").exists());
    assert!(saved(&sandbox), "{:?}", sandbox.refs("refs/acquit"));
    // It can be tried again all the same.
    let script = "[[only]]\nstep = [ { write = \"work.txt\", content = \"w\" }, { outcome = \"pr_ready\", payload = { summary = \"x\" } } ]\n";
    sandbox.repo.write(".acquit/script.toml", script);
    sandbox.acquit(&["task", "retry", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
}

#[test]
fn where_room_is_short_it_goes_earlier() {
    let sandbox = failed("[retention]\ndisk = \"1KiB\"\n");
    sandbox.acquit(&["clean"]).must(0).said("removed");
    assert!(!workspace(&sandbox).exists() && saved(&sandbox));
}

/// SPEC §9: "`kill -9` of any process at any moment loses nothing and repeats no effect".
#[test]
fn whoever_cleans_up_may_be_killed_at_any_point() {
    for point in 1..=3 {
        let sandbox = failed("[retention]\nunfinished = \"1ms\"\n");
        let marker = sandbox.place("marker");
        let fault = format!("clean:{point}:{}", marker.display());
        let sandbox = sandbox.with("ACQUIT_FAULT", fault);
        assert_eq!(sandbox.acquit(&["clean"]).code, None, "killed at point {point}");
        sandbox.acquit(&["clean"]).must(0);
        assert!(!workspace(&sandbox).exists() && saved(&sandbox), "after point {point}");
    }
}

#[test]
fn a_workspace_in_which_somebody_works_or_whose_task_waits_stays() {
    let waits = r#"
[[analyze]]
step = [ { run = "touch '@ROOT@/began'; while [ ! -e '@ROOT@/go' ]; do sleep 0.05; done" }, { outcome = "needs_input", payload = { question = "Which?" } } ]
"#;
    let retention = "[retention]\nunfinished = \"1ms\"\ndisk = \"1KiB\"\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{retention}"), SHIFT, waits);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("began"));
    sandbox.acquit(&["clean"]).must(0).said("stays: the task is not over");
    assert!(workspace(&sandbox).exists());
    std::fs::write(sandbox.place("go"), "").unwrap();
    run.wait().must(3);
    sandbox.acquit(&["clean"]).must(0).said("stays: the task is not over");
    assert!(workspace(&sandbox).exists());
}

#[test]
fn the_daemon_cleans_up_by_itself_when_nothing_runs() {
    let sandbox = failed("[retention]\nunfinished = \"1ms\"\n");
    let daemon = sandbox.start(&["serve"]);
    until("that it is gone", || (!workspace(&sandbox).exists()).then_some(()));
    assert!(saved(&sandbox));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

/// A tree that takes long to remove, which nobody wants to keep.
const LARGE: &str = r#"
[[only]]
step = [
    { run = "mkdir big; for d in $(seq 100); do mkdir big/$d; (cd big/$d; seq 300 | xargs touch); done" },
    { write = "work.txt", content = "w" },
    { outcome = "pr_ready", payload = { summary = "x" } },
]
"#;

/// A task that leaves such a tree and is then done.
fn large() -> Sandbox {
    let workflow = ONE.replace("pr_ready = \"done\"", "pr_ready = \"deliver\"")
        + "[stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";
    let sandbox = Sandbox::new(SCRIPTED, &workflow, LARGE);
    sandbox.repo.write(".gitignore", "big/\n");
    sandbox.repo.commit("what nobody keeps");
    sandbox.acquit(&["task", "add", "Large"]).must(0);
    sandbox
}

#[test]
fn the_daemon_goes_on_while_a_large_workspace_is_removed() {
    let sandbox = large();
    let daemon = sandbox.start(&["serve"]);
    let mark = sandbox.place("").to_string_lossy().into_owned();
    let remover = until("the process that removes it", || {
        let all = processes::marked(&mark);
        all.into_iter().find_map(|(pid, words)| words.contains(" clean --task T-1").then_some(pid))
    });
    // However long it takes: here, as long as the test wants.
    processes::signal(remover, Signal::STOP);
    let script = LARGE.lines().filter(|line| !line.contains("run =")).collect::<Vec<_>>().join("\n");
    sandbox.repo.write(".acquit/script.toml", &script);
    sandbox.acquit(&["task", "add", "Small"]).must(0);
    until("that the next task is done", || {
        let shown = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
        (shown["task"]["state"]["end"]["type"] == "done").then_some(())
    });
    assert!(workspace(&sandbox).exists(), "nothing of it went meanwhile");
    processes::signal(remover, Signal::CONT);
    for task in ["T-1", "T-2"] {
        let place = sandbox.place(&format!("acquit/tasks/{task}/workspace"));
        until("that it is gone", || (!place.exists()).then_some(()));
    }
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn a_daemon_that_ends_by_itself_has_removed_what_was_done() {
    let sandbox = large();
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert!(!workspace(&sandbox).exists());
}

#[test]
fn the_history_of_old_tasks_goes_if_the_user_wants_that_and_the_tasks_stay() {
    let sandbox = Sandbox::shell(crate::common::CODE, "echo work > work.txt\n");
    sandbox.acquit(&["run", "Do it"]).must(0);
    let before = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    // What an attempt left, as after a try that failed.
    let store = std::fs::read_dir(sandbox.place("acquit/tasks")).unwrap().flatten().next().unwrap();
    let store = store.file_name().to_string_lossy().into_owned();
    let (own, other) =
        (format!("refs/acquit/attempts/{store}/T-1-abc"), format!("refs/acquit/attempts/{store}/T-10-abc"));
    for name in [&own, &other] {
        sandbox.repo.git(&["update-ref", name, "HEAD"]);
    }
    let log = sandbox.leg_file(1, "output.log");
    assert!(log.is_file());
    let told = |args: &[&str]| -> Vec<serde_json::Value> {
        let all = sandbox.acquit(args).must(0).json();
        all.as_array().unwrap().iter().filter(|one| one.get("history").is_some()).cloned().collect()
    };
    assert_eq!(told(&["clean", "--json"]), [serde_json::Value::Null; 0], "nobody asked for it");
    sandbox.user_config("[retention]\nhistory = \"1s\"\n");
    let looked = crate::common::until("it is old", || {
        let looked = told(&["clean", "--dry-run", "--json"]);
        (looked.len() == 2).then_some(looked)
    });
    for (one, place) in looked.iter().zip(["store", "home"]) {
        assert!(one["place"] == place && one["history"] == "would go", "{looked:?}");
        assert!(one["bytes"].as_u64().unwrap() > 100, "{looked:?}");
    }
    // Killed in the middle, it is finished by the next.
    let mut clean = sandbox.command(&["clean"]);
    clean.env("ACQUIT_FAULT", format!("history:1:{}", sandbox.place("marker").display()));
    assert!(!clean.output().unwrap().status.success());
    assert!(log.is_file());
    sandbox.acquit(&["clean"]).must(0).said("logs and attempts of 1 old tasks");
    assert!(!log.exists());
    let refs = sandbox.refs("refs/acquit/attempts");
    assert_eq!(refs, [other]);
    assert_eq!(told(&["clean", "--json"]).len(), 0);
    sandbox.acquit(&["store", "check"]).must(0).said("no problems in 1 task");
    let after = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    assert_eq!((&after["task"], &after["legs"]), (&before["task"], &before["legs"]));
    assert!(sandbox.acquit(&["diff", "T-1"]).must(0).out.contains("+work"));
}
