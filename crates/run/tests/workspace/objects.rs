//! What a leg asks about commits that were just made: told without git, and the same as git tells.

use std::fs;
use std::path::PathBuf;

use acquit_run::git::{CommitId, Identity};
use acquit_run::workspace::{CommitText, Error, Piece, Seal};
use acquit_testkit::repo::{self, Repo};

use crate::kit::{Bench, id};

/// The file of an object of the harness's.
fn object(bench: &Bench, id: &CommitId) -> PathBuf {
    let (folder, file) = id.as_str().split_at(2);
    bench.dir.join("git/objects").join(folder).join(file)
}

/// Two legs that left something, and what they came to.
fn two_legs(bench: &Bench) -> [CommitId; 2] {
    bench.prepare("L1");
    bench.write("README.md", "first\n");
    let first = bench.collect("L1").unwrap().head;
    bench.lock().prepare("L2", &first, crate::kit::BRANCH).unwrap();
    bench.write("README.md", "second\n");
    [first, bench.collect("L2").unwrap().head]
}

#[test]
fn what_the_harness_has_just_committed_is_told_without_git() {
    for init in [&["--object-format=sha1"], &["--object-format=sha256"]] {
        let repo = Repo::with(init);
        repo.write("README.md", "sample\n");
        repo.commit("first");
        let bench = Bench::on(repo);
        let [first, second] = two_legs(&bench);
        let locked = bench.lock_without_git();
        let tree = locked.tree_of(&second).unwrap();
        let texts = locked.commits(&bench.base, &second).unwrap();
        let nothing = locked.commits(&second, &second).unwrap();
        assert!(
            matches!(locked.commits(&second, &first), Err(Error::Git { .. })),
            "not a line: git is asked"
        );
        drop(locked);
        assert_eq!(tree, bench.harness(&["rev-parse", &format!("{second}^{{tree}}")]));
        let text = |id: &CommitId| CommitText {
            id: id.clone(),
            author: "Ada <ada@example.org>".into(),
            message: "leftovers\n".into(),
        };
        assert_eq!(texts, [text(&second), text(&first)]);
        assert_eq!(nothing, []);
    }
}

#[test]
fn the_same_is_told_when_git_has_to_be_asked() {
    let bench = Bench::new();
    let [_, second] = two_legs(&bench);
    let told = |bench: &Bench| {
        let locked = bench.lock();
        (locked.tree_of(&second).unwrap(), locked.commits(&bench.base, &second).unwrap())
    };
    let quick = told(&bench);
    bench.harness(&["update-ref", "refs/acquit/all", second.as_str()]);
    bench.harness(&["repack", "-adlq"]);
    assert!(!object(&bench, &second).exists(), "packed");
    assert!(bench.lock_without_git().tree_of(&second).is_err(), "git is asked");
    assert_eq!(told(&bench), quick);
}

#[test]
fn a_commit_that_was_replaced_by_another_is_not_believed() {
    let bench = Bench::new();
    let [first, second] = two_legs(&bench);
    let file = object(&bench, &second);
    fs::remove_file(&file).unwrap();
    fs::copy(object(&bench, &first), &file).unwrap();
    let locked = bench.lock();
    assert!(matches!(locked.tree_of(&second), Err(Error::Git { .. })));
    assert!(matches!(locked.commits(&bench.base, &second), Err(Error::Git { .. })));
}

#[test]
fn the_commit_that_is_delivered_is_the_same_however_its_work_is_read() {
    let bench = Bench::new();
    let [_, second] = two_legs(&bench);
    let author = Identity::new("Ada", "ada@example.org");
    let deliver = || {
        let seal = Seal { author: &author, committer: &author, signing: None };
        let piece = Piece { tip: second.clone(), message: "all of it\n".into() };
        bench.lock().deliver(&bench.base, &[piece], &seal).unwrap()
    };
    let quick = deliver();
    bench.harness(&["update-ref", "refs/acquit/all", second.as_str()]);
    bench.harness(&["repack", "-adlq"]);
    assert_eq!(deliver(), quick);
    assert_eq!(bench.harness(&["rev-parse", &format!("{quick}^")]), bench.base.as_str());
}

#[test]
fn commits_of_an_agent_are_listed_as_git_lists_them() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "by the agent\n");
    let subjects = ["one", "two\nlines", "  blanks  ", "grüße"];
    let ids: Vec<CommitId> =
        subjects.iter().map(|words| id(&repo::commit_all(&bench.tree(), words))).collect();
    let work = bench.collect("L1").unwrap();
    // They are in the agent's repository as it wrote them, and in ours as a pack.
    assert_eq!(bench.lock_without_git().commits(&bench.base, &work.head).unwrap().len(), ids.len());
    let by_git = bench.harness(&["log", "--format=%s", &format!("{}..{}", bench.base, work.head)]);
    let listed: Vec<(&CommitId, &str)> =
        work.new_commits.iter().map(|commit| (&commit.id, commit.subject.as_str())).collect();
    assert_eq!(listed, ids.iter().rev().zip(by_git.lines()).collect::<Vec<_>>());
    assert_eq!(
        listed.iter().map(|(_, words)| words.trim()).collect::<Vec<_>>(),
        ["grüße", "blanks", "two lines", "one"]
    );
}
