//! Several repositories in one night: one after the other, or side by side, and whoever is killed meanwhile.

use acquit_testkit::repo::Repo;
use rustix::process::Signal;

use crate::common::{Sandbox, read, until, until_file};
use crate::{due, held, tasks, today};

/// Work that says when it began, and goes on when the test lets it.
const WAITS: &str = r#"
[[analyze]]
step = [
    { output = "plan.md", content = "Test the parser.\n" },
    { run = "touch '@ROOT@/began-one'; while [ ! -e '@ROOT@/go-one' ]; do sleep 0.05; done" },
    { outcome = "plan_complete", payload = { summary = "found", candidates = [ { files = ["a"], description = "Test the parser", rationale = "x" } ] } },
]
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "written" } } ]
"#;

/// Two repositories; what the second one's agent touches is called `two`.
fn two(order: &str) -> (Sandbox, Repo) {
    let other = Repo::at("another", &[]);
    let config = format!(
        "category = \"tests\"\nrepositories = [\".\", \"{}\"]\norder = \"{order}\"",
        other.path().display()
    );
    let sandbox = due(&(today(&config) + "[report]\nfile = \"../night.md\"\n"), WAITS);
    for file in ["acquit.toml", "workflows/flow.toml", "script.toml"] {
        let text = read(&sandbox.repo.path().join(".acquit").join(file));
        let text = text.replace("began-one", "began-two").replace("go-one", "go-two");
        other.write(&format!(".acquit/{file}"), &text);
    }
    other.commit("with acquit");
    (sandbox, other)
}

fn go(sandbox: &Sandbox, which: &str) {
    std::fs::write(sandbox.place(&format!("go-{which}")), "").unwrap();
}

fn both_are_done(sandbox: &Sandbox) {
    let report =
        until("the report", || Some(read(&sandbox.place("night.md"))).filter(|text| !text.is_empty()));
    assert_eq!(report.matches("BRANCH_CREATED").count(), 2, "{report}");
    assert!(report.contains("2 changes proposed"), "{report}");
    assert_eq!((held(sandbox).len(), tasks(sandbox)), (1, 2));
}

#[test]
fn side_by_side_all_are_begun_with_before_any_is_over() {
    let (sandbox, _other) = two("side by side");
    let daemon = sandbox.start(&["serve", "--once"]);
    until_file(&sandbox.place("began-one"));
    until_file(&sandbox.place("began-two"));
    go(&sandbox, "two");
    go(&sandbox, "one");
    daemon.wait().must(0);
    both_are_done(&sandbox);
}

#[test]
fn in_order_each_is_begun_with_when_the_one_before_it_is_over() {
    let (sandbox, _other) = two("in order");
    let daemon = sandbox.start(&["serve", "--once"]);
    until_file(&sandbox.place("began-one"));
    // A daemon that would begin with the second has had the time for it when it has looked for what died twice.
    until("some looks", || (daemon.err().contains("T-1: a harness")).then_some(()));
    assert_eq!(tasks(&sandbox), 1);
    assert!(!sandbox.place("began-two").exists());
    go(&sandbox, "one");
    until_file(&sandbox.place("began-two"));
    assert_eq!(sandbox.task().state.word(), "done", "the first is over");
    go(&sandbox, "two");
    daemon.wait().must(0);
    both_are_done(&sandbox);
}

/// SPEC §9: "`kill -9` of any process at any moment loses nothing and repeats no effect".
#[test]
fn a_daemon_that_is_killed_between_its_repositories_doubles_and_loses_none() {
    for order in ["in order", "side by side"] {
        let (sandbox, _other) = two(order);
        go(&sandbox, "one");
        go(&sandbox, "two");
        for wait in [30, 80, 130, 180, 250, 350] {
            let daemon = sandbox.start(&["serve", "--once"]);
            std::thread::sleep(std::time::Duration::from_millis(wait));
            daemon.signal(Signal::KILL);
            drop(daemon);
        }
        sandbox.acquit(&["serve", "--once"]).must(0);
        both_are_done(&sandbox);
    }
}

#[test]
fn a_process_that_begins_with_a_repository_and_is_killed_is_replaced() {
    let (sandbox, _other) = two("side by side");
    // It dies before it asks anything, again and again, and the night goes on as soon as one lives.
    let daemon = sandbox.start(&["serve", "--once"]);
    let mut killed = 0;
    until("that some were killed, or all is begun", || {
        for (pid, arguments) in crate::common::processes::marked(&sandbox.place("acquit").to_string_lossy()) {
            if arguments.contains(" begin --schedule ") && killed < 3 {
                killed += 1;
                let _ = rustix::process::kill_process(
                    rustix::process::Pid::from_raw(pid.cast_signed()).unwrap(),
                    Signal::KILL,
                );
            }
        }
        (killed >= 3 || sandbox.place("began-two").exists()).then_some(())
    });
    go(&sandbox, "one");
    go(&sandbox, "two");
    daemon.wait().must(0);
    both_are_done(&sandbox);
}
