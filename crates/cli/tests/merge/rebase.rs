//! A base branch that moves while a task is under way.

use crate::common::{Sandbox, until_file};
use crate::{CODE, on_main, sandbox, story};

/// Works, and then waits in a review until the test lets it go on.
const WAITS: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "wrote it" } } ]
[[look]]
step = [ { run = "touch @ROOT@/looking; while [ ! -e @ROOT@/go ]; do sleep 0.02; done" }, { outcome = "approved" } ]
"#;

fn reviewed(workflow: &str) -> String {
    workflow.replace(
        "on = { pr_ready = \"deliver\" }",
        "on = { pr_ready = \"look\" }\n[stages.look]\nmode = \"review\"\non = { approved = \"deliver\", changes_requested = \"person\" }",
    )
}

/// Runs the task, and does something while its review waits.
fn meanwhile(sandbox: &Sandbox, code: i32, what: impl FnOnce()) {
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("looking"));
    what();
    std::fs::write(sandbox.place("go"), "").unwrap();
    run.wait().must(code);
}

fn gate_runs(sandbox: &Sandbox) -> Vec<u32> {
    (1..=sandbox.task().legs).filter(|leg| sandbox.leg_file(*leg, "check-test.log").exists()).collect()
}

#[test]
fn a_task_that_begins_late_begins_at_what_the_branch_is_by_then() {
    let sandbox = sandbox(CODE, WAITS);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let now = on_main(&sandbox, "other.txt", "other\n");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let task = sandbox.task();
    assert_eq!(task.base(), now);
    assert_eq!(sandbox.repo.git(&["rev-parse", &format!("{}^", task.seed.branch)]), now);
}

#[test]
fn work_is_brought_onto_a_branch_that_moved_and_is_gated_there_before_it_is_delivered() {
    let sandbox = sandbox(&reviewed(CODE), WAITS);
    let mut now = String::new();
    meanwhile(&sandbox, 0, || now = on_main(&sandbox, "other.txt", "other\n"));
    let task = sandbox.task();
    let branch = &task.seed.branch;
    assert_eq!(sandbox.repo.git(&["rev-parse", &format!("{branch}^")]), now);
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &now, branch]), "work.txt");
    assert_eq!(gate_runs(&sandbox), [1, 3], "once for the work, once for the new base");
    assert_eq!(task.proven.as_deref(), Some(now.as_str()));
}

#[test]
fn a_branch_that_did_not_move_costs_no_second_gate() {
    let sandbox = sandbox(&reviewed(CODE), WAITS);
    meanwhile(&sandbox, 0, || {});
    assert_eq!(gate_runs(&sandbox), [1]);
}

#[test]
fn work_that_is_red_on_the_new_base_is_mended_and_never_delivered_red() {
    // On the new base the gate demands what the work does not have.
    let script = format!(
        "{WAITS}\n[[mend]]\nstep = [ {{ write = \"work.txt\", content = \"work and more\\n\" }}, {{ outcome = \"fixed\" }} ]\n"
    );
    let sandbox = sandbox(&reviewed(CODE), &script);
    let mut now = String::new();
    meanwhile(&sandbox, 0, || now = on_main(&sandbox, "check.sh", "grep -q 'and more' work.txt\n"));
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work and more");
    assert_eq!(sandbox.repo.git(&["rev-parse", &format!("{branch}^")]), now);
    assert_eq!(
        story(&sandbox),
        ["code pr_ready", "look approved", "deliver rejected by test", "mend fixed", "deliver done"]
    );
}

#[test]
fn work_that_the_branch_has_already_is_not_delivered_as_an_empty_commit() {
    let sandbox = sandbox(&format!("budgets = {{ nothing = 0 }}\n{}", reviewed(CODE)), WAITS);
    meanwhile(&sandbox, 3, || drop(on_main(&sandbox, "work.txt", "work\n")));
    assert!(sandbox.refs("refs/heads/acquit/").is_empty());
}

#[test]
fn nothing_of_the_work_is_lost_and_the_checkout_stays_as_it_is() {
    let sandbox = sandbox(&reviewed(CODE), WAITS);
    meanwhile(&sandbox, 0, || drop(on_main(&sandbox, "other.txt", "other\n")));
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert!(sandbox.refs("refs/acquit/attempts/").is_empty(), "{:?}", sandbox.refs("refs/acquit/attempts/"));
}

/// SPEC §3: "Sync at the start of a leg: fetch, reactive rebase on the base branch if it moved".
#[test]
fn a_stage_with_gates_begins_on_the_base_as_it_is_by_then() {
    let script = r#"
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { run = "touch @ROOT@/looking; while [ ! -e @ROOT@/go ]; do sleep 0.02; done" }, { outcome = "pr_ready" } ]
[[polish]]
step = [ { run = "cat other.txt >> work.txt" }, { outcome = "pr_ready" } ]
"#;
    let sandbox = sandbox(&polished(CODE), script);
    let mut now = String::new();
    meanwhile(&sandbox, 0, || now = on_main(&sandbox, "other.txt", "other\n"));
    assert_eq!(story(&sandbox), ["code pr_ready", "polish pr_ready", "deliver done"]);
    // Its gates judged it there, so the delivery needs none.
    assert_eq!(gate_runs(&sandbox), [1, 2]);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["rev-parse", &format!("{branch}^")]), now);
    assert_eq!(
        sandbox.repo.git(&["show", &format!("{branch}:work.txt")]),
        "work\nother",
        "the agent saw the new base"
    );
}

/// A second stage of an agent with gates, before the delivery.
fn polished(workflow: &str) -> String {
    workflow.replace(
        "on = { pr_ready = \"deliver\" }",
        "on = { pr_ready = \"polish\" }\n[stages.polish]\nmode = \"implement\"\ngates = [\"test\"]\non = { pr_ready = \"deliver\" }",
    )
}

#[test]
fn a_stage_whose_base_moved_against_the_work_begins_after_the_resolver() {
    let script = r#"
[[code]]
step = [ { write = "log.txt", content = "one\ntwo by task\nthree\nfour\nfive\n" }, { run = "touch @ROOT@/looking; while [ ! -e @ROOT@/go ]; do sleep 0.02; done" }, { outcome = "pr_ready" } ]
[[resolve]]
step = [ { write = "log.txt", content = "one\ntwo by main\ntwo by task\nthree\nfour\nfive\n" }, { outcome = "resolved" } ]
[[polish]]
step = [ { append = "log.txt", content = "six\n" }, { outcome = "pr_ready" } ]
"#;
    let sandbox = sandbox(&polished(CODE), script);
    let theirs = "one\ntwo by main\nthree\nfour\nfive\n";
    meanwhile(&sandbox, 0, || drop(on_main(&sandbox, "log.txt", theirs)));
    let expected =
        ["code pr_ready", "polish conflict", "resolve resolved", "polish pr_ready", "deliver done"];
    assert_eq!(story(&sandbox), expected);
    let branch = sandbox.task().seed.branch;
    let text = sandbox.repo.git(&["show", &format!("{branch}:log.txt")]);
    assert_eq!(text, "one\ntwo by main\ntwo by task\nthree\nfour\nfive\nsix");
}
