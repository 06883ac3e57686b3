//! A base branch that moves at the forge, where the user's repository does not see it: what is published was gated on what the branch
//! is there, and nothing of the user's moves.

use std::path::PathBuf;

use acquit_core::leg::Ending;
use acquit_core::task::State;
use acquit_testkit::forge::{Dialect, Fault};
use acquit_testkit::repo;

use crate::common::until_file;
use crate::world::{BRANCH, World};

/// A gate that demands more where the base has `strict.txt`, and a review that waits until the test lets it go on.
pub(crate) const REVIEWED: &str = r#"
conflict = "resolve"
[gates.check]
run = "if [ -e @ROOT@/hold ]; then touch @ROOT@/gating; while [ -e @ROOT@/hold ]; do sleep 0.02; done; fi; grep -q work log.txt && { test ! -e strict.txt || grep -q better log.txt; }"
kind = "test"

[stages.code]
mode = "implement"
gates = ["check"]
fix = "mend"
on = { pr_ready = "look" }

[stages.look]
mode = "review"
on = { approved = "publish", changes_requested = "person" }

[stages.mend]
mode = "fix"
on = { fixed = "back" }

[stages.resolve]
mode = "resolve"
on = { resolved = "back" }

[stages.publish]
kind = "action"
action = "publish"
on = { done = "done" }
"#;

pub(crate) fn without(stages: &[&str], key: &str) -> String {
    let mut text = REVIEWED.replace(key, "");
    for stage in stages {
        let at = text.find(&format!("[stages.{stage}]")).expect("a stage");
        let end = text[at..].find("\n\n").expect("its end") + at;
        text.replace_range(at..end, "");
    }
    text
}

/// Somebody else's clone.
fn theirs(world: &World) -> PathBuf {
    let clone = world.sandbox.place("theirs");
    if !clone.exists() {
        let bare = world.forge.repository("acme/widget");
        let (from, to) = (bare.to_string_lossy(), clone.to_string_lossy());
        repo::git(world.sandbox.repo.path(), &["clone", "--quiet", &from, &to]);
    }
    clone
}

/// Somebody else pushes to main. Gives the commit.
pub(crate) fn pushed(world: &World, file: &str, text: &str) -> String {
    let clone = theirs(world);
    repo::write(&clone.join(file), text);
    let commit = repo::commit_all(&clone, &format!("theirs: {file}"));
    repo::git(&clone, &["push", "--quiet", "origin", "HEAD:main"]);
    commit
}

/// Runs the task, and does something while its review waits.
pub(crate) fn meanwhile(world: &World, code: i32, what: impl FnOnce()) {
    let run = world.sandbox.start(&["run", "Do it"]);
    until_file(&world.sandbox.place("looking"));
    what();
    std::fs::write(world.sandbox.place("go"), "").unwrap();
    run.wait().must(code);
}

fn parent(world: &World) -> String {
    repo::git(&world.forge.repository("acme/widget"), &["rev-parse", &format!("{BRANCH}^")])
}

fn published(world: &World, file: &str) -> String {
    repo::git(&world.forge.repository("acme/widget"), &["show", &format!("{BRANCH}:{file}")])
}

/// How the legs went: stage and ending.
pub(crate) fn story(world: &World) -> Vec<String> {
    let word = |past: &acquit_core::leg::Past| {
        let how = match &past.ending {
            Ending::Passed { outcome } => outcome.name.to_string(),
            Ending::Conflict { .. } => "conflict".to_owned(),
            Ending::Held { .. } => "held".to_owned(),
            other => other.trouble().unwrap(),
        };
        format!("{} {how}", past.entry.stage)
    };
    world.sandbox.task().past.iter().map(word).collect()
}

/// What belongs to the user: branches, HEAD, remote-tracking branches, the checkout.
pub(crate) fn users(world: &World) -> String {
    let repo = &world.sandbox.repo;
    let refs =
        repo.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/remotes"]);
    format!("{refs}\n{}\n{}", repo.git(&["symbolic-ref", "HEAD"]), repo.git(&["status", "--porcelain"]))
}

#[test]
fn a_task_begins_at_what_its_base_is_at_the_forge() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, &without(&["look"], "").replace("\"look\"", "\"publish\""));
        let before = users(&world);
        let newer = pushed(&world, "other.txt", "other\n");
        world.sandbox.run_to(0);
        assert_eq!(parent(&world), newer);
        assert_eq!(world.sandbox.task().proven.as_deref(), Some(newer.as_str()));
        assert_eq!(users(&world), before);
        assert!(!world.forge.pulls()[0].body.contains("The base has moved"));
    }
}

#[test]
fn a_base_that_moved_at_the_forge_alone_is_followed_and_gated_before_anything_is_published() {
    let world = World::new(Dialect::GitHub, REVIEWED);
    let before = users(&world);
    let mut newer = String::new();
    meanwhile(&world, 0, || newer = pushed(&world, "other.txt", "other\n"));
    assert_eq!(parent(&world), newer);
    assert_eq!(world.sandbox.task().base(), newer);
    assert_eq!(users(&world), before);
    assert!(world.sandbox.leg_file(3, "check-check.log").exists(), "gated again where it was published");
    assert_eq!(world.forge.pulls().len(), 1);
}

#[test]
fn a_base_that_did_not_move_costs_no_second_gate() {
    let world = World::new(Dialect::GitHub, REVIEWED);
    meanwhile(&world, 0, || {});
    assert!(!world.sandbox.leg_file(3, "check-check.log").exists());
}

#[test]
fn a_conflict_with_what_the_forge_has_goes_to_the_resolver_and_is_gated() {
    let world = World::new(Dialect::GitHub, REVIEWED);
    let mut newer = String::new();
    meanwhile(&world, 0, || newer = pushed(&world, "log.txt", "theirs\n"));
    let expected = ["code pr_ready", "look approved", "publish conflict", "resolve resolved", "publish done"];
    assert_eq!(story(&world), expected);
    assert_eq!((published(&world, "log.txt").as_str(), parent(&world)), ("theirs\nwork", newer));
}

#[test]
fn a_conflict_without_a_resolver_is_a_question_and_nothing_is_pushed() {
    let world = World::new(Dialect::GitHub, &without(&["resolve"], "conflict = \"resolve\"\n"));
    meanwhile(&world, 3, || drop(pushed(&world, "log.txt", "theirs\n")));
    assert!(matches!(world.sandbox.task().state, State::Waiting { .. }));
    assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
    assert_eq!(world.forge.pulls().len(), 0);
}

#[test]
fn work_that_is_red_on_what_the_forge_has_is_mended_before_it_is_published() {
    let world = World::new(Dialect::GitHub, REVIEWED);
    let mut newer = String::new();
    meanwhile(&world, 0, || newer = pushed(&world, "strict.txt", "x\n"));
    let expected =
        ["code pr_ready", "look approved", "publish rejected by check", "mend fixed", "publish done"];
    assert_eq!(story(&world), expected);
    assert_eq!((published(&world, "log.txt").as_str(), parent(&world)), ("work\nbetter", newer));
}

#[test]
fn work_that_stays_red_on_what_the_forge_has_is_never_pushed() {
    let workflow =
        without(&["mend"], "fix = \"mend\"\n").replace("conflict =", "budgets = { test = 0 }\nconflict =");
    let world = World::new(Dialect::GitHub, &workflow);
    meanwhile(&world, 3, || drop(pushed(&world, "strict.txt", "x\n")));
    assert_eq!(story(&world).last().unwrap(), "publish rejected by check");
    assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
    assert_eq!(world.forge.pulls().len(), 0);
}

#[test]
fn a_base_that_moves_while_the_gates_run_is_followed_in_the_same_leg() {
    let world = World::new(Dialect::GitHub, REVIEWED);
    let run = world.sandbox.start(&["run", "Do it"]);
    until_file(&world.sandbox.place("looking"));
    pushed(&world, "other.txt", "one\n");
    std::fs::write(world.sandbox.place("hold"), "").unwrap();
    std::fs::write(world.sandbox.place("go"), "").unwrap();
    until_file(&world.sandbox.place("gating"));
    let newest = pushed(&world, "other.txt", "two\n");
    std::fs::remove_file(world.sandbox.place("hold")).unwrap();
    run.wait().must(0).said("at the forge meanwhile");
    assert_eq!(parent(&world), newest);
    assert_eq!(story(&world), ["code pr_ready", "look approved", "publish done"]);
}

#[test]
fn a_base_that_never_rests_is_given_up_after_a_while_and_nothing_stale_is_pushed() {
    let workflow = without(&["look"], "").replace("\"look\"", "\"publish\"").replace(
        "run = \"",
        "run = \"(cd @ROOT@/theirs && git -c user.name=x -c user.email=x commit -q --allow-empty -m x && git push -q origin HEAD:main); ",
    );
    let world = World::with_config(Dialect::GitHub, &workflow, "", "sandbox = \"off\"\n");
    theirs(&world);
    world.sandbox.acquit(&["task", "add", "Do it"]).must(0);
    world.sandbox.acquit(&["leg"]).must(0);
    assert_eq!(story(&world), ["code pr_ready", "publish held"]);
    let waits = world.sandbox.endings().last().and_then(Ending::trouble).unwrap();
    assert!(waits.contains("moved at the forge each time"), "{waits}");
    assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
    assert_eq!(world.forge.pulls().len(), 0);
}

#[test]
fn a_forge_that_is_away_is_a_warning_at_the_start_of_a_leg_and_waited_for_before_publishing() {
    let world = World::new(Dialect::GitHub, &without(&["look"], "").replace("\"look\"", "\"publish\""));
    let newer = pushed(&world, "other.txt", "other\n");
    // When the task is made, at the start of its leg, and before it publishes.
    for _ in 0..3 {
        world.forge.fail("GIT", "/info/refs", Fault::Before(503));
    }
    world.sandbox.run_to(0).said("the leg goes on with what is known of the base branch");
    assert_eq!(story(&world), ["code pr_ready", "publish held", "publish done"]);
    assert_eq!(parent(&world), newer);
    let task = world.sandbox.task();
    let spent: Vec<&str> = task.spent.keys().map(acquit_core::ids::Name::as_str).collect();
    assert_eq!(spent, ["forge"]);
}

#[test]
fn commits_that_only_the_user_has_are_not_below_the_work() {
    let workflow = without(&["look"], "").replace("\"look\"", "\"publish\"");
    let world = World::new(Dialect::GitHub, &workflow);
    world.sandbox.repo.write("mine.txt", "mine\n");
    world.sandbox.repo.commit("mine, pushed by nobody");
    let newer = pushed(&world, "other.txt", "other\n");
    world.sandbox.run_to(0);
    assert_eq!(parent(&world), newer, "what the request is compared with");
}

/// Whether the forge has a commit, on whatever branch.
fn has(world: &World, commit: &str) -> bool {
    repo::git_succeeds(&world.forge.repository("acme/widget"), &["cat-file", "-e", commit])
}

#[test]
fn commits_that_the_user_has_not_pushed_are_not_pushed_by_a_task() {
    // On the base branch itself, and on another that happens to be checked out.
    for branch in ["main", "wip"] {
        let world = World::new(Dialect::GitHub, crate::world::WORKFLOW);
        if branch == "wip" {
            world.sandbox.repo.git(&["checkout", "--quiet", "-b", "wip"]);
        }
        world.sandbox.repo.write("half-done.txt", "not for others\n");
        let wip = world.sandbox.repo.commit("wip");
        world.sandbox.run_to(0);
        let pulls = world.forge.pulls();
        assert_eq!((pulls.len(), pulls[0].base.as_str()), (1, "main"), "{branch}: {pulls:?}");
        assert!(!has(&world, wip.trim()), "{branch}: the user's own commit was pushed");
        assert_eq!(world.sandbox.repo.git(&["rev-parse", branch]), wip.trim(), "nothing of the user's moves");
    }
}

#[test]
fn a_base_that_only_the_user_has_is_a_question_and_nothing_is_pushed() {
    let world = World::new(Dialect::GitHub, crate::world::WORKFLOW);
    world.sandbox.repo.git(&["checkout", "--quiet", "-b", "topic"]);
    world.sandbox.repo.write("half-done.txt", "not for others\n");
    let wip = world.sandbox.repo.commit("wip");
    world.sandbox.acquit(&["run", "Do it", "--base", "topic"]).must(3).said("the forge has no branch topic");
    assert!(!has(&world, wip.trim()) && world.forge.branch("acme/widget", BRANCH).is_none());
}

#[test]
fn the_default_branch_is_the_one_of_the_remote() {
    let world = World::new(Dialect::GitHub, crate::world::WORKFLOW);
    let bare = world.forge.repository("acme/widget");
    repo::git(&bare, &["branch", "develop", "main"]);
    repo::git(&bare, &["symbolic-ref", "HEAD", "refs/heads/develop"]);
    world.sandbox.repo.git(&["branch", "develop", "main"]);
    world.sandbox.run_to(0);
    assert_eq!(world.forge.pulls()[0].base, "develop");
}
