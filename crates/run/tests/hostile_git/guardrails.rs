//! The rules of a task: told by hooks while the agent works, found afterwards whether or not it left the hooks alone.

use std::fs;
use std::process::Command;

use acquit_run::workspace::{Error, Leftover, Leftovers, Rules, Work};
use acquit_testkit::repo;

use crate::inventory::verb_of;
use crate::stage::{BRANCH, Stage, leftovers, rules, store};

fn prepared() -> Stage {
    let stage = Stage::new();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    stage.workspace(&source).lock("t").unwrap().prepare("L1", &base, BRANCH).unwrap();
    repo::write(&stage.tree().join("README.md"), "work\n");
    stage
}

fn collect(stage: &Stage, keep: Leftovers) -> Result<Work, Error> {
    let source = stage.source();
    stage.workspace(&source).lock("t").unwrap().collect("L1", keep)
}

fn agent(stage: &Stage, args: &[&str]) -> String {
    repo::git(&stage.tree(), args)
}

/// What git says when it refuses.
fn refused(stage: &Stage, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(stage.tree()).args(args).env_clear().env("HOME", "/nonexistent");
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn ends(stage: &Stage, keep: Leftovers, words: &[&str]) {
    match collect(stage, keep) {
        Err(Error::Guardrail { what }) => {
            assert!(words.iter().all(|word| what.contains(word)), "{words:?}: {what}");
        }
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn a_commit_without_the_task_gets_its_trailer_and_one_with_it_stays_as_it_is() {
    for (message, expected) in [
        ("Fix it", "Fix it\n\nTask: T-1"),
        ("Fix: it", "Fix: it\n\nTask: T-1"),
        ("Fix it for T-12", "Fix it for T-12\n\nTask: T-1"),
        ("Fix T-1", "Fix T-1"),
        ("Fix it\n\nTask: T-1", "Fix it\n\nTask: T-1"),
        ("Fix it\n\nBody.", "Fix it\n\nBody.\n\nTask: T-1"),
        ("Fix it\n\nSigned-off-by: A <a@b>", "Fix it\n\nSigned-off-by: A <a@b>\nTask: T-1"),
        ("Re-add: it", "Re-add: it\n\nTask: T-1"),
        ("100% \\n $(x) 'y'", "100% \\n $(x) 'y'\n\nTask: T-1"),
    ] {
        let stage = prepared();
        agent(&stage, &["commit", "--quiet", "--no-verify", "--all", "-m", message]);
        assert_eq!(agent(&stage, &["log", "-1", "--format=%B"]), expected);
        assert_eq!(collect(&stage, leftovers()).unwrap().leftover, Leftover::None);
    }
}

#[test]
fn merges_amendments_and_picks_name_the_task_too() {
    let stage = prepared();
    agent(&stage, &["commit", "--quiet", "--all", "-m", "one"]);
    agent(&stage, &["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    repo::write(&stage.tree().join("side.txt"), "side\n");
    repo::commit_all(&stage.tree(), "two");
    agent(&stage, &["checkout", "--quiet", BRANCH]);
    agent(&stage, &["merge", "--quiet", "--no-ff", "--no-edit", "side"]);
    agent(&stage, &["commit", "--quiet", "--amend", "--no-edit"]);
    agent(&stage, &["revert", "--no-edit", "-m", "1", "HEAD"]);
    assert_eq!(collect(&stage, leftovers()).unwrap().new_commits.len(), 4);
}

#[test]
fn a_commit_that_evades_the_hooks_is_found() {
    let stage = prepared();
    agent(&stage, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--all", "-m", "sneaky"]);
    agent(&stage, &["commit", "--quiet", "--allow-empty", "-m", "T-1: honest"]);
    ends(&stage, leftovers(), &["\"sneaky\"", "does not name the task", "Task: T-1"]);
}

#[test]
fn protected_branches_are_refused_by_hooks_and_found_without_them() {
    let stage = prepared();
    for args in [
        &["branch", "main"][..],
        &["checkout", "-q", "-b", "release/2"],
        &["update-ref", "refs/heads/it's", "HEAD"],
        &["symbolic-ref", "HEAD", "refs/heads/main"],
        &["checkout", "-q", "--orphan", "main"],
    ] {
        let words = refused(&stage, args);
        assert!(words.contains("protected branch") && words.contains("acquit"), "{args:?}: {words}");
    }
    agent(&stage, &["checkout", "--quiet", "-b", "mainly"]);
    agent(&stage, &["checkout", "--quiet", BRANCH]);
    agent(&stage, &["-c", "core.hooksPath=/dev/null", "branch", "release/3"]);
    ends(&stage, leftovers(), &["release/3", "protected", BRANCH]);
    ends(&stage, Leftovers::SaveAndReset, &["release/3"]);
    // What was wrong can be made right.
    agent(&stage, &["branch", "-q", "-D", "release/3"]);
    collect(&stage, leftovers()).unwrap();
}

/// SPEC: "checking out or moving a protected branch, force-push: impossible by construction, and a clear message to the agent that
/// tried".
#[test]
fn who_pushes_fetches_or_checks_out_the_base_is_told_in_clear_words() {
    let stage = Stage::new();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let rules = Rules { base_commit: Some(base.clone()), ..rules() };
    let workspace = || stage.workspace(&source).with_rules(rules.clone());
    workspace().lock("t").unwrap().prepare("L1", &base, BRANCH).unwrap();
    for args in [
        &["push"][..],
        &["push", "--force"],
        &["push", "-f", "origin", "HEAD:main"],
        &["push", "--force", "origin", "main"],
        &["fetch"],
        &["pull", "origin", "main"],
    ] {
        let words = refused(&stage, args);
        assert!(words.contains("acquit: do not push, fetch or pull."), "{args:?}: {words}");
    }
    for args in [&["checkout", "main"][..], &["switch", "main"]] {
        let words = refused(&stage, args);
        assert!(words.contains("acquit: main is a protected branch"), "{args:?}: {words}");
    }
    // Honest work goes on after that, also where git has packed the refs.
    agent(&stage, &["diff", "--quiet", "origin/main"]);
    repo::write(&stage.tree().join("README.md"), "work\n");
    agent(&stage, &["commit", "--quiet", "--all", "-m", "work"]);
    agent(&stage, &["pack-refs", "--all"]);
    let work = workspace().lock("t").unwrap().collect("L1", leftovers()).unwrap();
    assert_eq!(work.new_commits.len(), 1);
    // Who moves it anyway is told, and without the hooks found.
    let words = refused(&stage, &["branch", "--force", "main", "HEAD"]);
    assert!(words.contains("acquit: main is a protected branch"), "{words}");
    agent(&stage, &["-c", "core.hooksPath=/dev/null", "branch", "--force", "main", "HEAD"]);
    let collected = workspace().lock("t").unwrap().collect("L1", leftovers());
    assert!(
        matches!(&collected, Err(Error::Guardrail { what }) if what.contains("branch \"main\"")),
        "{collected:?}"
    );
}

/// Before 2.46, git asks no hook before `HEAD` is on another branch: the checkout is told afterwards.
#[test]
fn a_checkout_of_the_base_is_told_by_every_git() {
    let stage = Stage::new();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let rules = Rules { base_commit: Some(base.clone()), ..rules() };
    stage.workspace(&source).with_rules(rules).lock("t").unwrap().prepare("L1", &base, BRANCH).unwrap();
    fs::remove_file(stage.tree().join(".git/hooks/reference-transaction")).unwrap();
    let words = refused(&stage, &["checkout", "main"]);
    assert!(words.contains("acquit: main is a protected branch"), "{words}");
    assert!(stage.tree().join(".git/acquit-guardrail").exists(), "and the leg ends");
    fs::remove_file(stage.tree().join(".git/acquit-guardrail")).unwrap();
    agent(&stage, &["checkout", "--quiet", BRANCH]);
    assert!(!stage.tree().join(".git/acquit-guardrail").exists());
}

/// A branch of the repository may be called like the folder of the task's own branch.
#[test]
fn a_base_whose_name_is_a_folder_of_the_own_branch_is_no_trouble() {
    let stage = Stage::new();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let (folder, _) = BRANCH.split_once('/').unwrap();
    for name in [folder.to_owned(), format!("{BRANCH}/more"), BRANCH.to_owned()] {
        let rules = Rules { base: Some(name), base_commit: Some(base.clone()), ..rules() };
        let workspace = stage.workspace(&source).with_rules(rules);
        let locked = workspace.lock("t").unwrap();
        locked.prepare("L1", &base, BRANCH).unwrap();
        assert_eq!(locked.collect("L1", leftovers()).unwrap().leftover, Leftover::None);
    }
}

#[test]
fn a_push_is_refused_with_words() {
    let stage = prepared();
    let to = stage.repo.beside("inner");
    let words = refused(&stage, &["push", to.to_str().unwrap(), BRANCH]);
    assert!(words.contains("acquit delivers; do not push"), "{words}");
}

#[test]
fn changes_of_acquits_folder_are_found_in_commits_in_the_tree_and_where_only_looking_was_asked_for() {
    type Way = fn(&Stage);
    let ways: [Way; 6] = [
        |s| repo::write(&s.tree().join(".acquit/acquit.toml"), "mine\n"),
        |s| repo::write(&s.tree().join(".acquit/new/file"), "mine\n"),
        |s| fs::remove_file(s.tree().join(".acquit/acquit.toml")).unwrap(),
        |s| {
            agent(s, &["mv", ".acquit", "elsewhere"]);
        },
        |s| {
            fs::remove_dir_all(s.tree().join(".acquit")).unwrap();
            repo::write(&s.tree().join(".acquit"), "a file\n");
        },
        |s| repo::write(&s.tree().join(".Acquit/acquit.toml"), "mine\n"),
    ];
    for way in ways {
        for commit in [false, true] {
            let stage = prepared();
            way(&stage);
            if commit {
                repo::commit_all(&stage.tree(), "T-1");
            }
            ends(&stage, Leftovers::SaveAndReset, &["cquit", "leave it as it is"]);
            ends(&stage, leftovers(), &["cquit", "leave it as it is"]);
            let source = stage.source();
            let base = source.base(&stage.git(), None).unwrap().commit;
            let saved =
                stage.workspace(&source).lock("t").unwrap().prepare("L2", &base, BRANCH).unwrap().saved;
            assert!(saved.is_some(), "an attempt is never lost");
            assert_eq!(
                fs::read_to_string(stage.tree().join(".acquit/acquit.toml")).unwrap(),
                "agent = \"bot\"\n"
            );
        }
    }
    // Touched and the same is no change.
    let stage = prepared();
    repo::write(&stage.tree().join(".acquit/acquit.toml"), "agent = \"bot\"\n");
    collect(&stage, leftovers()).unwrap();
}

#[test]
fn an_ordinary_leg_pays_no_git_call_for_the_rules() {
    let calls = |rules: bool| {
        let stage = Stage::listening();
        let source = stage.source();
        let base = source.base(&stage.git(), None).unwrap().commit;
        stage.calls();
        let plain =
            acquit_run::workspace::Workspace::open(&stage.dir, &source, stage.git(), &store()).unwrap();
        let workspace = if rules { stage.workspace(&source) } else { plain };
        let locked = workspace.lock("t").unwrap();
        locked.prepare("L1", &base, BRANCH).unwrap();
        repo::write(&stage.tree().join("README.md"), "work\n");
        repo::commit_all(&stage.tree(), "T-1: work");
        repo::write(&stage.tree().join("README.md"), "more\n");
        locked.collect("L1", leftovers()).unwrap();
        stage.calls().len()
    };
    let (with, without) = (calls(true), calls(false));
    assert_eq!((with, without), (5, 5), "read-tree, rev-list, fetch, commit, diff-tree");
}

#[test]
fn a_leg_that_changes_one_file_starts_git_for_the_tree_and_for_the_commit() {
    let stage = Stage::listening();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let locked = stage.workspace(&source).lock("t").unwrap();
    stage.calls();
    assert_eq!(source.branch_known_at(&stage.git(), "main", &base).unwrap().as_ref(), Some(&base));
    locked.prepare("L1", &base, BRANCH).unwrap();
    repo::write(&stage.tree().join("README.md"), "work\n");
    let work = locked.collect("L1", leftovers()).unwrap();
    locked.commits(&base, &work.head).unwrap();
    locked.tree_of(&work.head).unwrap();
    let verbs: Vec<String> = stage.calls().iter().filter_map(|call| verb_of(call)).collect();
    assert_eq!(verbs, ["read-tree", "commit"]);
}
