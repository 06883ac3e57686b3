//! A harness that dies around a merge: the branch has moved once or not at all, and the task comes to its end.

use std::collections::BTreeSet;

use crate::common::{Sandbox, read};
use crate::{CODE, merging, on_main, sandbox};

const GOOD: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "wrote it" } } ]
"#;

fn merged_once(sandbox: &Sandbox, base: &str) {
    let tasks =
        sandbox.repo.git(&["log", "--format=%(trailers:key=Task,valueonly)", &format!("{base}..main")]);
    let tasks: Vec<&str> = tasks.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(tasks, ["T-1"], "once");
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.repo.git(&["show", "main:work.txt"]), "work");
    assert!(
        sandbox.refs("refs/acquit/incoming/").is_empty() && sandbox.refs("refs/acquit/checkout/").is_empty()
    );
    assert!(sandbox.refs("refs/acquit/attempts/").is_empty(), "{:?}", sandbox.refs("refs/acquit/attempts/"));
}

fn killed_at(moment: &str) {
    let sandbox = sandbox(&merging(), GOOD);
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    let marker = sandbox.place("marker");
    let sandbox = sandbox.with("ACQUIT_FAULT", format!("{moment}:1:{}", marker.display()));
    sandbox.run_to(0);
    assert!(!read(&marker).is_empty(), "nobody was killed at {moment}");
    merged_once(&sandbox, &base);
    let lost: BTreeSet<String> = sandbox.task().spent.keys().map(ToString::to_string).collect();
    assert_eq!(lost, ["lost".to_owned()].into(), "only the lost leg was spent");
}

#[test]
fn killed_in_the_queue() {
    killed_at("merge-entered");
}

#[test]
fn killed_before_the_branch_moves() {
    killed_at("merge-planned");
}

#[test]
fn killed_after_the_branch_moved() {
    killed_at("merge-moved");
}

#[test]
fn killed_after_it_was_settled() {
    killed_at("merge-settled");
}

#[test]
fn killed_at_the_handoff_of_the_merge() {
    // The gates of the first leg, and then of the merge: the leg is over, but for its handoff.
    let sandbox = sandbox(&merging(), GOOD);
    let base = sandbox.repo.git(&["rev-parse", "main"]);
    let marker = sandbox.place("marker");
    let sandbox = sandbox.with("ACQUIT_FAULT", format!("artifacts:2:{}", marker.display()));
    sandbox.run_to(0);
    assert_eq!(read(&marker).len(), 3);
    merged_once(&sandbox, &base);
}

#[test]
fn a_checkout_that_was_left_behind_is_brought_along_by_the_next_merge() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    // As a crash between the two leaves it: the branch has moved, its checkout has not.
    let old = sandbox.repo.git(&["rev-parse", "main"]);
    let moved = {
        sandbox.repo.git(&["switch", "-q", "--detach"]);
        let moved = on_main(&sandbox, "other.txt", "other\n");
        sandbox.repo.git(&["switch", "-q", "main"]);
        moved
    };
    sandbox.repo.git(&["update-ref", "refs/heads/main", &moved]);
    sandbox.repo.git(&["update-ref", "refs/acquit/checkout/main", &old]);
    assert_ne!(sandbox.repo.git(&["status", "--porcelain"]), "");
    sandbox.acquit(&["merge", "T-1"]).must(0);
    merged_once(&sandbox, &moved);
    assert_eq!(std::fs::read_to_string(sandbox.repo.path().join("other.txt")).unwrap(), "other\n");
}

/// A lock that a kill left in the user's repository: ours is removed by the next merge, one of another git is told and stays.
#[test]
fn a_lock_of_the_index_is_swept_if_it_is_ours_and_told_if_it_is_not() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let (git, before) = (sandbox.repo.path().join(".git"), sandbox.repo.git(&["rev-parse", "main"]));
    std::fs::write(git.join("index.lock"), "").unwrap();
    let told = sandbox.acquit(&["merge", "T-1"]);
    assert_ne!(told.code, Some(0));
    told.said("another git holds");
    told.said("index.lock");
    assert!(git.join("index.lock").exists(), "it is not ours to remove");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), before, "nothing moved");
    assert!(!git.join("index.acquit").exists());

    let sandbox = crate::sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let (git, before) = (sandbox.repo.path().join(".git"), sandbox.repo.git(&["rev-parse", "main"]));
    // As a killed merge leaves it.
    std::fs::write(git.join("index.acquit"), "half").unwrap();
    std::fs::hard_link(git.join("index.acquit"), git.join("index.lock")).unwrap();
    sandbox.acquit(&["merge", "T-1"]).must(0);
    assert_ne!(sandbox.repo.git(&["rev-parse", "main"]), before);
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    let left: Vec<_> = std::fs::read_dir(&git).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("index.")), "{left:?}");
}
