//! What only a person can put right is asked of a person, at once, with what is missing.

use acquit_core::task::State;
use acquit_testkit::forge::{Dialect, Rights};
use acquit_testkit::repo::{self, Repo};

use crate::draft::two;
use crate::secret::{in_front, program};
use crate::world::{BRANCH, TOKEN, WORKFLOW, World};

/// The question that the task waits with.
#[track_caller]
fn question(world: &World) -> String {
    match world.sandbox.task().state {
        State::Waiting { request } => request.question,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_right_becomes_a_question_and_its_answer_goes_on() {
    for (dialect, missing) in [(Dialect::GitHub, "\"Pull requests\""), (Dialect::GitLab, "role Developer")] {
        let world = World::new(dialect, WORKFLOW);
        world.forge.allow(TOKEN, "ada", Rights::Push);
        world.sandbox.run_to(3);
        let asked = question(&world);
        for words in ["Resource not accessible", "the secret THE_TOKEN", missing] {
            assert!(asked.contains(words), "{words} is not in {asked}");
        }
        assert!(!asked.contains(TOKEN));
        assert_eq!(world.sandbox.task().past.len(), 2, "nothing is tried again by itself");
        world.forge.allow(TOKEN, "ada", Rights::Write);
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(0);
        assert_eq!(world.forge.pulls().len(), 1);
    }
}

#[test]
fn a_token_that_may_not_push_is_a_question_too() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    world.forge.allow(TOKEN, "ada", Rights::Read);
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("403") && asked.contains("\"Contents\""), "{asked}");
    assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
}

#[test]
fn a_token_that_nobody_knows_and_no_token_at_all_are_questions() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    world.forge.allow(TOKEN, "ada", Rights::Write);
    let World { forge, sandbox } = world;
    let world = World { forge, sandbox: sandbox.with("THE_TOKEN", "ghp_somethingElse") };
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("Authentication failed"), "{asked}");

    let world = World::new(Dialect::GitHub, WORKFLOW);
    let text = std::fs::read_to_string(world.sandbox.repo.path().join(".acquit/acquit.toml")).unwrap();
    world.sandbox.repo.write(".acquit/acquit.toml", &text.replace("token = \"THE_TOKEN\"\n", ""));
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("GH_ENTERPRISE_TOKEN") && asked.contains("gh auth login"), "{asked}");
}

#[test]
fn somebody_elses_push_is_not_overwritten() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    let other = Repo::sample();
    let url = world.forge.url("acme/widget").replace("http://", &format!("http://x:{TOKEN}@"));
    other.git(&["push", "--quiet", &url, &format!("main:refs/heads/{BRANCH}")]);
    let theirs = world.forge.branch("acme/widget", BRANCH).unwrap();
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("somebody else moved the branch") && asked.contains(&theirs[..12]), "{asked}");
    assert_eq!(world.forge.branch("acme/widget", BRANCH), Some(theirs));
    assert_eq!(world.forge.pulls().len(), 0);
    // Once it is out of the way, the task goes on.
    let bare = world.forge.repository("acme/widget");
    repo::git(&bare, &["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    world.sandbox.acquit(&["run", "T-1"]).must(0);
    assert_eq!(world.forge.pulls().len(), 1);
}

#[test]
fn a_branch_that_somebody_made_between_the_look_and_the_push_is_not_overwritten() {
    let world = World::new(Dialect::GitLab, WORKFLOW);
    let remote = world.forge.repository("acme/widget");
    let theirs = world.forge.branch("acme/widget", "main").unwrap();
    let real = "PATH=/usr/local/bin:/usr/bin:/bin";
    let then = format!(
        "case \"$*\" in *' push '*) {real} git --git-dir='{}' update-ref refs/heads/{BRANCH} {theirs};; esac\n{real} exec git \"$@\"",
        remote.display()
    );
    program(&world, "git", &then);
    let world = in_front(world);
    world.sandbox.run_to(3);
    assert!(question(&world).contains("somebody else moved the branch"), "{}", question(&world));
    assert_eq!(world.forge.branch("acme/widget", BRANCH), Some(theirs));
}

#[test]
fn a_protected_branch_is_a_question() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    world.forge.protect("acme/widget", "acquit/");
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("does not accept the branch") && asked.contains("Protected branch"), "{asked}");
}

#[test]
fn a_request_that_a_person_closed_is_not_made_again_and_goes_on_when_it_is_reopened() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, &two("", ""));
        world.sandbox.run_to(3);
        world.forge.edit(1, |pull| pull.state = "closed".to_owned());
        let pushed = world.forge.branch("acme/widget", BRANCH);
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(3);
        let asked = question(&world);
        assert!(asked.contains("was closed without being merged") && asked.contains("Reopen it"), "{asked}");
        assert_eq!((world.forge.pulls().len(), world.forge.branch("acme/widget", BRANCH)), (1, pushed));
        world.forge.edit(1, |pull| pull.state = "open".to_owned());
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(3).said("is up to date");
        assert_eq!(world.forge.pulls().len(), 1);
    }
}

#[test]
fn what_comes_after_a_merged_request_has_one_of_its_own() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, &two("", "reviewers = [\"bob\"]"));
        world.sandbox.run_to(3);
        world.forge.edit(1, |pull| pull.state = "merged".to_owned());
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(3).said("has a new request");
        let pulls = world.forge.pulls();
        assert_eq!(pulls.iter().map(|pull| pull.state.as_str()).collect::<Vec<_>>(), ["merged", "open"]);
        assert_eq!(pulls[1].reviewers, ["bob"], "{dialect:?}: people are asked anew");
    }
}
