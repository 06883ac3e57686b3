//! The demo, and what a run does to the user's repository: a branch, and nothing else.

use std::time::{Duration, Instant};

use crate::common::Sandbox;
use crate::{CODE, GOOD};

/// What the demo may take.
const DEMO_LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_demo_shows_a_rejection_a_fix_and_one_commit_on_a_branch() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let began = Instant::now();
    let demo = sandbox.acquit(&["demo", "--keep"]).must(0);
    assert!(began.elapsed() < DEMO_LIMIT, "{:?}", began.elapsed());
    for line in [
        "● plan",
        "✗ gate test",
        "✗ rejected by test",
        "● fix (for code: test)",
        "expected: {\"greeting\":\"Hello, \\\"Ada\\\"!\"}",
    ] {
        assert!(demo.err.contains(line), "no {line:?} in\n{}", demo.err);
    }
    for line in ["LEG  STAGE", "total", "$0.10", "T-1 is done", "Add a --json flag", "greet.sh"] {
        assert!(demo.out.contains(line), "no {line:?} in\n{}", demo.out);
    }
    assert!(!demo.out.contains('\u{1b}') && !demo.err.contains('\u{1b}'), "colours without a terminal");

    let (_, folder) = demo.err.split_once("kept: ").unwrap();
    let repository = std::path::Path::new(folder.trim()).join("greet");
    let git = |args: &[&str]| acquit_testkit::repo::git(&repository, args);
    assert_eq!(git(&["log", "--format=%s", "main..acquit/add-a-json-flag-T-1"]), "Add a --json flag");
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn the_demo_leaves_its_sample_until_the_next_one_and_nothing_else() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["demo", "show", "T-1"]).must(2).said("run `acquit demo` first");
    for _ in 0..2 {
        sandbox.acquit(&["demo"]).must(0);
    }
    let left: Vec<_> = std::fs::read_dir(sandbox.place("tmp")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let samples = std::fs::read_dir(sandbox.place("acquit/demo")).unwrap().flatten();
    assert_eq!(samples.filter(|entry| entry.path().is_dir()).count(), 1);
    assert!(!sandbox.place("acquit/acquit.db").exists(), "the demo used the user's store");
}

#[test]
fn a_run_changes_nothing_of_the_users_but_adds_its_branch() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.repo.write("dirty.txt", "mine\n");
    sandbox.repo.write("README.md", "changed by me\n");
    sandbox.repo.git(&["add", "dirty.txt"]);
    let status = sandbox.repo.git(&["status", "--porcelain"]);
    // Refs of acquit's own are what a run adds; everything else is compared byte for byte.
    let ours = ["refs/heads/acquit", "refs/acquit", "logs/refs/heads/acquit", "logs/refs/acquit"];
    let before = sandbox.repo.fingerprint(&ours);
    sandbox.run_to(0).said("your checkout has uncommitted changes");
    let changed: Vec<_> =
        sandbox.repo.fingerprint(&ours).into_iter().filter(|file| !before.contains(file)).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert_eq!(sandbox.repo.fingerprint(&ours).len(), before.len(), "something is gone");
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), status);
    assert_eq!(sandbox.refs("refs/heads/"), ["refs/heads/acquit/do-it-T-1", "refs/heads/main"]);
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", "main...acquit/do-it-T-1"]), "work.txt");
    assert_eq!(sandbox.repo.git(&["worktree", "list"]).lines().count(), 1);
}
