//! Working with a green branch on one's own machine: `acquit diff`, `acquit show`, `acquit merge`.

use crate::{CODE, on_main, sandbox, story};

const GOOD: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "wrote it" } } ]
"#;

#[test]
fn diff_shows_what_the_task_changed_in_words_numbers_and_json() {
    let script = GOOD.replace("work\\n", "work \\u001b[31mred\\n");
    let sandbox = sandbox(CODE, &script);
    sandbox.run_to(0);
    on_main(&sandbox, "other.txt", "other\n");
    let diff = sandbox.acquit(&["diff", "T-1"]).must(0);
    diff.said("+work \\u{1b}[31mred");
    assert!(!diff.out.contains('\u{1b}'), "no colours and no escapes where nobody looks");
    assert!(!diff.out.contains("other.txt"), "only the task's own work");
    sandbox.acquit(&["diff", "T-1", "--stat"]).must(0).said("1 file changed, 1 insertion(+)");
    let json = sandbox.acquit(&["diff", "T-1", "--json"]).must(0).json();
    assert_eq!(json["files"], serde_json::json!([{ "path": "work.txt", "added": 1, "removed": 0 }]));
    assert_eq!(json["published"], true);
}

#[test]
fn diff_shows_work_that_is_only_in_the_workspace_and_says_when_there_is_none() {
    let workflow = CODE.replace(
        "kind = \"action\"\naction = \"squash\"\non = { done = \"done\" }",
        "kind = \"human\"\nquestion = \"Ship it?\"\non = { approved = \"done\" }",
    );
    let sandbox = sandbox(&workflow, GOOD);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox.acquit(&["diff", "T-1"]).must(2).said("it has no work yet");
    sandbox.acquit(&["run", "T-1"]).must(3);
    sandbox.acquit(&["diff", "T-1"]).must(0).said("+work");
    sandbox.acquit(&["diff", "T-9"]).must(2).said("no such task");
}

#[test]
fn show_tells_what_there_is_and_how_to_take_it() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let shown = sandbox.acquit(&["show", "T-1"]).must(0);
    for part in ["Do it", "test", "acquit diff T-1", "acquit merge T-1", "code", "deliver"] {
        shown.said(part);
    }
    assert_eq!(sandbox.acquit(&["show", "T-1", "--json"]).must(0).json()["task"]["seed"]["id"], "T-1");
    sandbox.acquit(&["merge", "T-1"]).must(0);
    assert!(
        !sandbox.acquit(&["show", "T-1"]).must(0).out.contains("acquit merge"),
        "merged work is not offered"
    );
}

#[test]
fn merge_moves_the_branch_and_a_clean_checkout_with_it() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let delivered = sandbox.repo.git(&["rev-parse", &sandbox.task().seed.branch]);
    sandbox.repo.write("unknown.txt", "git does not know it\n");
    sandbox.acquit(&["merge", "T-1"]).must(0).said("merged into main");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), delivered, "fast-forward");
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "?? unknown.txt");
    assert_eq!(std::fs::read_to_string(sandbox.repo.path().join("work.txt")).unwrap(), "work\n");
    assert!(sandbox.refs("refs/acquit/checkout/").is_empty());
    sandbox.acquit(&["merge", "T-1"]).must(0).said("already");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), delivered);
}

#[test]
fn merge_brings_work_onto_a_branch_that_moved_and_gates_it_again() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let now = on_main(&sandbox, "other.txt", "other\n");
    sandbox.acquit(&["merge", "T-1"]).must(0);
    assert_eq!(sandbox.repo.git(&["rev-parse", "main^"]), now);
    assert_eq!(sandbox.repo.git(&["log", "-1", "--format=%s", "main"]), "Do it");
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    assert!(sandbox.leg_file(3, "check-test.log").exists());
    let json = sandbox.acquit(&["diff", "T-1", "--json"]).must(0).json();
    assert_eq!(json["files"][0]["path"], "work.txt");
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
}

#[test]
fn merge_leaves_a_checkout_with_changes_alone_and_the_branch_too() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let before = sandbox.repo.git(&["rev-parse", "main"]);
    sandbox.repo.write("README.md", "mine, and in no commit\n");
    sandbox.acquit(&["merge", "T-1"]).must(2).said("with changes that are in no commit");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), before);
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), " M README.md");
    // On another branch nobody is in the way.
    sandbox.repo.git(&["switch", "-q", "-c", "mine"]);
    sandbox.acquit(&["merge", "T-1"]).must(0);
    assert_ne!(sandbox.repo.git(&["rev-parse", "main"]), before);
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), " M README.md");
}

#[test]
fn merge_refuses_work_that_is_red_on_what_the_branch_is_now() {
    let sandbox = sandbox(
        &CODE
            .replace("fix = \"mend\"\n", "")
            .replace("[stages.mend]\nmode = \"fix\"\non = { fixed = \"back\" }\n", "")
            .replace("[gates.test]", "budgets = { test = 0 }\n[gates.test]"),
        GOOD,
    );
    sandbox.run_to(0);
    let now = on_main(&sandbox, "check.sh", "! test -e work.txt\n");
    sandbox.acquit(&["merge", "T-1"]).must(3);
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), now);
    assert_eq!(story(&sandbox).last().unwrap(), "deliver rejected by test");
}

#[test]
fn merge_says_what_is_missing() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox.acquit(&["merge", "T-1"]).must(2).said("it is ready and cannot be merged");
    sandbox.acquit(&["merge", "T-2"]).must(2).said("no such task");
}

/// Counts how often the gate ran.
fn counting(sandbox: &crate::common::Sandbox) -> impl Fn() -> usize {
    let log = sandbox.place("gated");
    sandbox.repo.write("check.sh", &format!("echo once >> '{}'\n", log.display()));
    sandbox.repo.commit("count");
    move || std::fs::read_to_string(&log).unwrap_or_default().lines().count()
}

#[test]
fn merge_on_a_base_that_has_not_moved_does_not_gate_again() {
    let sandbox = sandbox(CODE, GOOD);
    let gated = counting(&sandbox);
    sandbox.run_to(0);
    let before = gated();
    assert!(before > 0);
    sandbox.acquit(&["merge", "T-1"]).must(0).said("merged into main");
    assert_eq!(gated(), before, "nothing was different");
    let moved = crate::sandbox(CODE, GOOD);
    let gated = counting(&moved);
    moved.run_to(0);
    let before = gated();
    on_main(&moved, "other.txt", "other\n");
    moved.acquit(&["merge", "T-1"]).must(0);
    assert!(gated() > before, "the base is another one");
}

#[test]
fn work_that_is_in_the_base_already_is_no_quarrel() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    sandbox.repo.git(&["merge", "--quiet", "--no-ff", "-m", "by hand", &branch]);
    sandbox.repo.git(&["branch", "-D", &branch]);
    sandbox.acquit(&["merge", "T-1"]).must(0).said("is in main already");
    let told = sandbox.acquit(&["merge", "T-1", "--json"]).must(0).json();
    assert_eq!((&told["merged"], &told["branch"]), (&"already".into(), &"main".into()), "{told}");
}

#[test]
fn a_task_that_began_at_a_commit_says_what_to_do_instead() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.repo.git(&["checkout", "--quiet", "--detach"]);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    sandbox.acquit(&["merge", "T-1"]).must(2).said(&format!("git merge {branch}"));
}

#[test]
fn a_conflict_asks_before_an_agent_is_paid_to_resolve_it() {
    let script = GOOD.replace("work.txt", "log.txt");
    let sandbox = sandbox(CODE, &script);
    sandbox.run_to(0);
    on_main(&sandbox, "log.txt", "mine\n");
    let before = sandbox.task().past.len();
    sandbox.acquit(&["merge", "T-1"]).must(3).said("Approve to let the agent of stage resolve");
    assert_eq!(sandbox.task().past.len(), before + 1, "no agent has begun");
}
