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
