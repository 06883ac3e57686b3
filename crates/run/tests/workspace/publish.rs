//! Work goes to the user's repository as a branch, and nothing else there changes.

use std::fs;

use acquit_core::ids::TaskId;
use acquit_run::git::Identity;
use acquit_run::workspace::Error;
use acquit_testkit::repo;

use crate::kit::{BRANCH, Bench, git, id, store};

fn with_work() -> (Bench, acquit_run::git::CommitId) {
    let bench = Bench::new();
    bench.prepare("L1");
    for text in ["one\n", "two\n"] {
        bench.write("README.md", text);
        repo::commit_all(&bench.tree(), "step");
    }
    let head = bench.collect("L1").unwrap().head;
    (bench, head)
}

#[test]
fn the_users_repository_is_unchanged_but_for_our_refs() {
    let (bench, _) = with_work();
    bench.repo.git(&["branch", "feature"]);
    bench.repo.git(&["tag", "v1"]);
    bench.repo.write("README.md", "the user's own change\n");
    fs::create_dir_all(bench.repo.path().join(".git/hooks")).unwrap();
    fs::write(bench.repo.path().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
    let ours = ["refs/acquit", "refs/heads/acquit", "logs/refs/heads/acquit", "logs/refs/acquit"];
    let before = bench.repo.fingerprint(&ours);

    bench.source.pin(&git(), &store(), TaskId(1), &bench.base).unwrap();
    bench.write("README.md", "abandoned\n");
    let prepared = bench.prepare("L2");
    assert!(prepared.saved.is_some());
    bench.write("README.md", "final\n");
    let work = bench.collect("L2").unwrap();
    let locked = bench.lock();
    let author = Identity::new("Ada", "ada@example.org");
    let squashed = locked.squash(&bench.base, &work.head, "Add it\n", &author).unwrap();
    locked.publish(&bench.source, BRANCH, &squashed).unwrap();
    locked.publish(&bench.source, BRANCH, &squashed).unwrap();

    assert!(bench.repo.fingerprint(&ours) == before, "something else changed");
    assert_eq!(fs::read_to_string(bench.repo.path().join("README.md")).unwrap(), "the user's own change\n");
    assert_eq!(bench.repo.git(&["log", "--format=%an %s", &format!("main..{BRANCH}")]), "Ada Add it");
    assert_eq!(bench.repo.git(&["show", &format!("{BRANCH}:README.md")]), "final");
    assert_eq!(bench.repo.git(&["show", "refs/acquit/attempts/5f3a09c1/L2:README.md"]), "abandoned");
    let refs = bench.repo.git(&["for-each-ref", "--format=%(refname)", "refs/acquit"]);
    assert_eq!(refs, "refs/acquit/attempts/5f3a09c1/L2\nrefs/acquit/base/5f3a09c1/T-1");
    assert_eq!(bench.repo.git(&["fsck"]), "");
    locked.remove(&bench.source).unwrap();
    assert!(!bench.dir.exists());
    assert_eq!(bench.repo.git(&["fsck"]), "", "nothing was borrowed the other way");
}

#[test]
fn squashing_twice_gives_one_commit() {
    let (bench, head) = with_work();
    let author = Identity::new("Ada", "ada@example.org");
    let once = bench.lock().squash(&bench.base, &head, "m\n", &author).unwrap();
    assert_eq!(bench.lock().squash(&bench.base, &head, "m\n", &author).unwrap(), once);
    assert_eq!(bench.harness(&["rev-parse", &format!("{once}^")]), bench.base.as_str());
    assert_eq!(
        bench.harness(&["rev-parse", &format!("{once}^{{tree}}")]),
        bench.harness(&["rev-parse", &format!("{head}^{{tree}}")])
    );
    let error = bench.lock().squash(&head, &bench.base, "m\n", &author).unwrap_err();
    assert!(matches!(error, Error::NotDescended { .. }), "{error:?}");
}

#[test]
fn a_branch_that_somebody_moved_or_has_checked_out_is_left_alone() {
    let (bench, head) = with_work();
    let locked = bench.lock();
    bench.repo.git(&["branch", BRANCH, "main"]);
    let error = locked.publish(&bench.source, BRANCH, &head).unwrap_err();
    assert!(matches!(error, Error::Moved { .. }), "{error:?}");
    bench.repo.git(&["branch", "-D", BRANCH]);

    let first = id(&bench.harness(&["rev-parse", &format!("{head}^")]));
    locked.publish(&bench.source, BRANCH, &first).unwrap();
    locked.publish(&bench.source, BRANCH, &head).unwrap();
    bench.repo.git(&["update-ref", &format!("refs/heads/{BRANCH}"), bench.base.as_str()]);
    let error = locked.publish(&bench.source, BRANCH, &head).unwrap_err();
    assert!(matches!(&error, Error::Moved { found, .. } if found == bench.base.as_str()), "{error:?}");

    bench.repo.git(&["update-ref", &format!("refs/heads/{BRANCH}"), first.as_str()]);
    let elsewhere = bench.repo.beside("elsewhere");
    bench.repo.git(&["worktree", "add", "--quiet", elsewhere.to_str().unwrap(), BRANCH]);
    let error = locked.publish(&bench.source, BRANCH, &head).unwrap_err();
    assert!(matches!(&error, Error::CheckedOut { at, .. } if *at == elsewhere), "{error:?}");
    let error = locked.publish(&bench.source, "main", &head).unwrap_err();
    assert!(matches!(error, Error::CheckedOut { .. }), "{error:?}");
    let unborn = bench.repo.git(&["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    assert_eq!(unborn, "");
    let error = locked.publish(&bench.source, "unborn", &head).unwrap_err();
    assert!(matches!(error, Error::CheckedOut { .. }), "{error:?}");
}

#[test]
fn an_attempt_of_the_same_name_keeps_its_place() {
    let bench = Bench::new();
    bench.repo.git(&["update-ref", "refs/acquit/attempts/5f3a09c1/L2", bench.base.as_str()]);
    bench.prepare("L1");
    bench.write("README.md", "abandoned\n");
    let saved = bench.prepare("L2").saved.unwrap();
    let locked = bench.lock();
    locked.keep_in_source(&bench.source, "T-1").unwrap();
    locked.keep_in_source(&bench.source, "T-1").unwrap();
    assert_eq!(bench.repo.git(&["rev-parse", "refs/acquit/attempts/5f3a09c1/L2"]), bench.base.as_str());
    let other = format!("refs/acquit/attempts/5f3a09c1/L2-{}", saved.commit.short());
    assert_eq!(bench.repo.git(&["show", &format!("{other}:README.md")]), "abandoned");
    locked.remove(&bench.source).unwrap();
}

#[test]
fn nothing_unsaved_is_removed() {
    fn refuses(bench: &Bench, word: &str) {
        let error = bench.lock().remove(&bench.source).unwrap_err();
        assert!(matches!(&error, Error::Unsaved { what, .. } if what.contains(word)), "{word}: {error:?}");
        assert!(bench.dir.join("work/README.md").exists());
    }
    let (bench, head) = with_work();
    refuses(&bench, "in no branch");
    bench.lock().publish(&bench.source, BRANCH, &head).unwrap();
    bench.write("dirty.txt", "x\n");
    refuses(&bench, "in no commit");
    let saved = bench.lock().prepare("L2", &head, BRANCH).unwrap().saved;
    assert!(saved.is_some());
    refuses(&bench, "attempt");
    bench.write("README.md", "more\n");
    repo::commit_all(&bench.tree(), "not collected");
    refuses(&bench, "in no commit");
    bench.lock().collect("L2", crate::kit::commit_leftovers()).unwrap();
    refuses(&bench, "in no branch");
    bench.lock().keep_in_source(&bench.source, "T-1").unwrap();
    bench.lock().remove(&bench.source).unwrap();
    assert!(!bench.dir.exists());
    assert!(bench.prepare("L3").created, "the place can be used again");
}

#[test]
fn what_was_moved_aside_must_be_discarded_by_name() {
    let bench = Bench::new();
    bench.prepare("L1");
    // A tag with a message is an object of its own, and no commit.
    bench.agent(&["tag", "-a", "-m", "a tag", "other"]);
    let saved = bench.prepare("L2").saved.unwrap();
    assert_eq!(saved.kept.len(), 1);
    bench.lock().keep_in_source(&bench.source, "T-1").unwrap();
    let error = bench.lock().remove(&bench.source).unwrap_err();
    assert!(matches!(&error, Error::Unsaved { what, .. } if what.contains("kept")), "{error:?}");
    bench.lock().discard_kept().unwrap();
    bench.lock().remove(&bench.source).unwrap();
}

/// Agents like to make a branch. That leaves nothing behind.
#[test]
fn commits_elsewhere_are_saved_with_the_attempt_and_the_workspace_can_go() {
    let bench = Bench::new();
    bench.prepare("L1");
    let commit = |file: &str| {
        bench.write(file, "work\n");
        repo::commit_all(&bench.tree(), file)
    };
    bench.agent(&["branch", "nothing-on-it"]);
    bench.agent(&["checkout", "--quiet", "-b", "other"]);
    let other = commit("other.txt");
    bench.agent(&["checkout", "--quiet", "--detach", BRANCH]);
    let detached = commit("detached.txt");
    bench.write("README.md", "stashed\n");
    bench.agent(&["stash"]);
    let stash = bench.agent(&["rev-parse", "stash"]);
    bench.agent(&["pack-refs", "--all"]);
    bench.write("README.md", "left in the tree\n");
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert!(saved.kept.is_empty(), "{saved:?}");
    assert_eq!(bench.saved(&saved.commit, "README.md"), "left in the tree");
    for part in [&other, &detached, &stash] {
        bench.harness(&["merge-base", "--is-ancestor", part, saved.commit.as_str()]);
    }
    bench.assert_fresh();
    assert!(bench.prepare("L3").saved.is_none());
    bench.lock().keep_in_source(&bench.source, "T-1").unwrap();
    bench.lock().remove(&bench.source).unwrap();
}

#[test]
fn a_publication_that_failed_is_not_taken_for_done() {
    let (bench, head) = with_work();
    bench.repo.git(&["branch", "acquit"]);
    let error = bench.lock().publish(&bench.source, BRANCH, &head).unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error:?}");
    let error = bench.lock().remove(&bench.source).unwrap_err();
    assert!(matches!(&error, Error::Unsaved { what, .. } if what.contains("in no branch")), "{error:?}");
    bench.repo.git(&["branch", "-D", "acquit"]);
    bench.lock().publish(&bench.source, BRANCH, &head).unwrap();
    bench.lock().remove(&bench.source).unwrap();
}
