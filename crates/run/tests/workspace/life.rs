//! The ordinary life of a workspace.

use std::os::unix::fs::PermissionsExt;

use acquit_core::artifact::DiffStats;
use acquit_run::git::Identity;
use acquit_run::workspace::{Error, Leftover, Leftovers, Workspace};
use acquit_testkit::repo::{self, Repo};

use crate::kit::{BRANCH, Bench, commit_leftovers, git, store};

#[test]
fn a_fresh_workspace_is_the_base_on_its_own_branch() {
    let bench = Bench::new();
    let prepared = bench.prepare("L1");
    assert!(prepared.created && prepared.saved.is_none() && prepared.notes.is_empty());
    bench.assert_fresh();
    assert_eq!(bench.read("src/main.txt"), "one\ntwo\n");
    assert_eq!(bench.repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn nothing_changed_means_that_no_git_runs() {
    let bench = Bench::new();
    bench.prepare("L1");
    let locked = bench.lock_without_git();
    let again = locked.prepare("L2", &bench.base, BRANCH).unwrap();
    assert!(!again.created && again.saved.is_none());
    let work = locked.collect("L2", commit_leftovers()).unwrap();
    assert_eq!((work.head, work.leftover), (bench.base.clone(), Leftover::None));
    let read_only = locked.collect("L2", Leftovers::SaveAndReset).unwrap();
    assert_eq!(read_only.head, bench.base);
}

#[test]
fn a_look_by_the_agents_git_is_no_change() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.agent(&["status"]);
    bench.agent(&["update-index", "--refresh"]);
    let locked = bench.lock_without_git();
    assert_eq!(locked.collect("L1", commit_leftovers()).unwrap().head, bench.base);
    assert_eq!(locked.prepare("L2", &bench.base, BRANCH).unwrap().saved, None);
    drop(locked);
    bench.assert_fresh();
}

#[test]
fn committed_work_is_imported_and_the_next_leg_starts_on_it() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("src/main.txt", "one\nTWO\nthree\n");
    bench.write("new file.txt", "new\n");
    repo::commit_all(&bench.tree(), "do the work\n\nbody");
    bench.write("README.md", "second\n");
    let tip = repo::commit_all(&bench.tree(), "and more");

    let work = bench.collect("L1").unwrap();
    assert_eq!(work.head.as_str(), tip);
    let subjects: Vec<_> = work.new_commits.iter().map(|c| c.subject.as_str()).collect();
    assert_eq!(subjects, ["and more", "do the work"]);
    assert_eq!(work.stats, DiffStats { files: 3, insertions: 4, deletions: 2 });
    assert_eq!(bench.changed(&work), ["README.md", "new file.txt", "src/main.txt"]);
    assert_eq!(work.leftover, Leftover::None);
    assert_eq!(bench.lock_without_git().collect("L1", commit_leftovers()).unwrap(), work);

    let next = bench.lock_without_git().prepare("L2", &work.head, BRANCH).unwrap();
    assert_eq!(next.saved, None);
    assert_eq!(bench.agent(&["rev-parse", "HEAD"]), tip);
    assert_eq!(bench.agent(&["status", "--porcelain"]), "");
    assert_eq!(bench.agent(&["fsck"]), "");
}

#[test]
fn what_the_agent_did_not_commit_is_committed_for_it() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "committed\n");
    let tip = repo::commit_all(&bench.tree(), "mine");
    bench.write("README.md", "left over\n");
    bench.write("neu/grüße.txt", "x\n");
    bench.write("cache/ignored", "x\n");
    std::fs::remove_file(bench.tree().join("src/main.txt")).unwrap();

    let work = bench.collect("L1").unwrap();
    assert_eq!(work.leftover, Leftover::Committed(work.head.clone()));
    assert_eq!(bench.harness(&["rev-parse", &format!("{}^", work.head)]), tip);
    assert_eq!(
        bench.harness(&["log", "-1", "--format=%an %ae %s", work.head.as_str()]),
        "Ada ada@example.org leftovers"
    );
    assert_eq!(bench.changed(&work), ["README.md", "neu/grüße.txt", "src/main.txt"]);
    assert_eq!(work.new_commits.len(), 2);

    let prepared = bench.lock_without_git().prepare("L2", &work.head, BRANCH).unwrap();
    assert_eq!(prepared.saved, None, "everything had been collected");
    assert_eq!(bench.read("cache/ignored"), "x\n");
    std::fs::remove_file(bench.dir.join("state")).unwrap();
    assert!(matches!(bench.collect("L2"), Err(Error::NotPrepared { .. })));
}

#[test]
fn a_stage_that_only_reads_leaves_no_trace_but_an_attempt() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "committed\n");
    repo::commit_all(&bench.tree(), "mine");
    bench.write("junk.txt", "junk\n");
    bench.write("cache/build", "kept\n");
    let work = bench.lock().collect("L1", Leftovers::SaveAndReset).unwrap();
    assert_eq!(work.head, bench.base);
    let Leftover::Saved(saved) = work.leftover else { panic!("{:?}", work.leftover) };
    assert_eq!(saved.reference, "refs/acquit/attempts/5f3a09c1/L1");
    assert_eq!(bench.saved(&saved.commit, "junk.txt"), "junk");
    assert_eq!(bench.saved(&saved.commit, "README.md"), "committed");
    assert!(!bench.tree().join("junk.txt").exists());
    assert_eq!((bench.read("README.md"), bench.read("cache/build")), ("sample\n".into(), "kept\n".into()));
    assert_eq!(bench.prepare("L2").saved, None);
    bench.assert_fresh();
}

#[test]
fn an_abandoned_attempt_is_saved_before_the_reset() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "committed\n");
    let tip = repo::commit_all(&bench.tree(), "mine");
    bench.write("src/main.txt", "dirty\n");
    bench.write("untracked/deep/file", "u\n");
    bench.write("cache/build", "kept\n");
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!((saved.reference.as_str(), saved.kept.len()), ("refs/acquit/attempts/5f3a09c1/L2", 0));
    assert_eq!(bench.harness(&["rev-parse", &format!("{}^", saved.commit)]), tip);
    assert_eq!(bench.saved(&saved.commit, "src/main.txt"), "dirty");
    assert_eq!(bench.saved(&saved.commit, "untracked/deep/file"), "u");
    assert!(!bench.tree().join("untracked").exists());
    assert_eq!(bench.read("cache/build"), "kept\n");
    bench.assert_fresh();

    bench.write("README.md", "another attempt of the same leg\n");
    let second = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(second.reference, "refs/acquit/attempts/5f3a09c1/L2-2");
    assert_eq!(bench.harness(&["rev-parse", "refs/acquit/attempts/5f3a09c1/L2"]), saved.commit.as_str());
}

#[test]
fn work_hidden_by_new_ignore_rules_is_saved_too() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write(".gitignore", "*\n");
    bench.write("hidden.txt", "hidden work\n");
    bench.write("README.md", "changed\n");
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "hidden.txt"), "hidden work");
    assert_eq!(bench.saved(&saved.commit, "README.md"), "changed");
    assert!(!bench.tree().join("hidden.txt").exists());
    bench.assert_fresh();
}

#[test]
fn a_start_at_another_commit_moves_the_tree_there() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.repo.write("README.md", "moved on\n");
    let next = crate::kit::id(&bench.repo.commit("upstream"));
    let prepared = bench.lock().prepare("L2", &next, BRANCH).unwrap();
    assert_eq!((prepared.saved, bench.read("README.md").as_str()), (None, "moved on\n"));
    let back = bench.lock().prepare("L3", &bench.base, "acquit/other").unwrap();
    assert_eq!(back.saved.expect("what is left behind is kept").commit, next);
    assert_eq!(bench.read("README.md"), "sample\n");
    assert_eq!(bench.agent(&["symbolic-ref", "--short", "HEAD"]), "acquit/other");
}

#[test]
fn two_legs_at_once_are_refused_by_name() {
    let bench = Bench::new();
    let held = bench.workspace().lock("leg 7 of T-1").unwrap();
    let error = bench.workspace().lock("leg 8").unwrap_err();
    assert!(matches!(&error, Error::LockedWorkspace { holder, .. } if holder == "leg 7 of T-1"), "{error:?}");
    drop(held);
    bench.workspace().lock("leg 8").unwrap();
}

#[test]
fn submodules_are_filled_in_and_survive() {
    let inner = Repo::sample();
    let repo = Repo::sample();
    let url = inner.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    repo.commit("with a submodule");
    let bench = Bench::on(repo);
    let prepared = bench.prepare("L1");
    assert_eq!((prepared.notes, bench.read("lib/README.md").as_str()), (Vec::new(), "sample\n"));
    bench.write("lib/README.md", "no part of the work\n");
    bench.write("README.md", "changed\n");
    let work = bench.collect("L1").unwrap();
    assert_eq!(bench.changed(&work), ["README.md"]);
    let saved = bench.prepare("L2").saved.expect("work that the next leg does not build on is kept");
    assert_eq!(saved.commit, work.head);
    bench.assert_fresh();
}

#[test]
fn bad_names_and_places_are_refused() {
    let bench = Bench::new();
    let locked = bench.lock();
    for (leg, branch) in
        [("", "b"), ("a/b", "b"), ("..", "b"), ("L1", ""), ("L1", "a..b"), ("L1", "-x"), ("L1", "x.lock")]
    {
        let error = locked.prepare(leg, &bench.base, branch).unwrap_err();
        assert!(matches!(error, Error::BadName { .. }), "{leg} {branch} {error:?}");
    }
    let other = crate::kit::id(&"a".repeat(64));
    assert!(matches!(locked.prepare("L1", &other, "b"), Err(Error::BadName { .. })));
    let absent = crate::kit::id(&"a".repeat(40));
    assert!(matches!(locked.prepare("L1", &absent, "b"), Err(Error::Git { .. })));
    assert!(locked.prepare("L1", &bench.base, "b").unwrap().created, "the failure left nothing in the way");
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let bench = Bench::new();
    let closed = bench.repo.beside("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write anywhere but below a file or in /proc, which nobody can write to.
    let dir = if rustix::process::geteuid().is_root() { "/proc/acquit".into() } else { closed.join("task") };
    let error = Workspace::open(&dir, &bench.source, git(), &store()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().starts_with("create "), "{error:?}");
}

#[test]
fn setup_in_the_tree_is_remembered_by_its_key() {
    let bench = Bench::new();
    bench.prepare("L1");
    let locked = bench.lock();
    assert!(!locked.setup_done("one").unwrap());
    locked.mark_setup_done("one").unwrap();
    assert!(locked.setup_done("one").unwrap() && !locked.setup_done("two").unwrap());
}

#[test]
fn the_agents_identity_is_in_its_own_configuration() {
    let bench = Bench::new();
    let workspace = bench.workspace().with_agent_identity(Identity::new("Ada \"Q\" L", "ada@example.org"));
    workspace.lock("t").unwrap().prepare("L1", &bench.base, BRANCH).unwrap();
    assert_eq!(bench.agent(&["config", "user.name"]), "Ada \"Q\" L");
}
