//! Merging by the forge: what was proven is merged, once, however often and wherever it is interrupted, and never without those who
//! must be asked.

use acquit_core::artifact::Artifact;
use acquit_core::leg::Ending;
use acquit_core::task::State;
use acquit_testkit::forge::{Dialect, Fault, Rule};
use acquit_testkit::repo;

use crate::base::{REVIEWED, meanwhile, pushed, story, users, without};
use crate::common::{read, side_by_side, until};
use crate::world::{BRANCH, World};

/// Reviewed work that is merged.
pub(crate) fn reviewed() -> String {
    REVIEWED.replace("\"publish\"", "\"merge\"").replace("[stages.publish]", "[stages.merge]")
}

/// The same without the review.
pub(crate) fn merging() -> String {
    without(&["look"], "")
        .replace("\"publish\"", "\"merge\"")
        .replace("[stages.publish]", "[stages.merge]")
        .replace("\"look\"", "\"merge\"")
}

/// Main at the forge, as commits from the first on.
fn log(world: &World, from: &str, format: &str) -> Vec<String> {
    let bare = world.forge.repository("acme/widget");
    let text =
        repo::git(&bare, &["log", "--reverse", &format!("--format={format}"), &format!("{from}..main")]);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// One merge of the one request, with the work in it, which the task knows of.
#[track_caller]
fn merged_once(world: &World, from: &str, name: &str) {
    let pulls = world.forge.pulls();
    let [pull] = pulls.as_slice() else { panic!("{name}: {} requests", pulls.len()) };
    assert_eq!(pull.state, "merged", "{name}");
    assert_eq!(log(world, from, "%(trailers:key=Task,valueonly)"), ["T-1"], "{name}");
    let bare = world.forge.repository("acme/widget");
    assert_eq!(repo::git(&bare, &["show", "main:log.txt"]), "work", "{name}");
    let task = world.sandbox.task();
    let recorded = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Merged { branch, commit } => Some((branch.as_str(), commit.clone())),
        _ => None,
    });
    let now = world.forge.branch("acme/widget", "main").unwrap();
    assert_eq!(recorded, Some(("main", now.clone())), "{name}");
    assert_eq!(world.sandbox.repo.git(&["rev-parse", "refs/acquit/remote/main"]), now, "{name}: seen here");
}

fn first(world: &World) -> String {
    world.forge.branch("acme/widget", "main").unwrap()
}

fn question(world: &World) -> String {
    match world.sandbox.task().state {
        State::Waiting { request } => request.question,
        other => panic!("{other:?}"),
    }
}

fn merges(world: &World) -> Vec<u16> {
    let is = |call: &&acquit_testkit::forge::Called| call.method == "PUT" && call.path.ends_with("/merge");
    world.forge.calls().iter().filter(is).map(|call| call.status).collect()
}

#[test]
fn proven_work_is_merged_by_the_forge_and_nothing_of_the_users_moves() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, &merging());
        let (from, before) = (first(&world), users(&world));
        world.sandbox.run_to(0).said("merged into main by");
        merged_once(&world, &from, &format!("{dialect:?}"));
        assert_eq!(users(&world), before);
        let call = world.forge.calls().into_iter().find(|call| call.path.ends_with("/merge")).unwrap();
        let head = world.forge.pulls()[0].merged_head.clone();
        assert_eq!(call.body["sha"].as_str(), head.as_deref(), "bound to what was proven");
        assert!(!world.forge.pulls()[0].draft);
    }
}

#[test]
fn work_is_merged_as_the_project_says() {
    let world = World::with_forge_settings(Dialect::GitHub, &merging(), "[merge]\nmethod = \"merge\"");
    let from = first(&world);
    world.sandbox.run_to(0);
    let bare = world.forge.repository("acme/widget");
    assert_eq!(repo::git(&bare, &["rev-list", "--merges", "--count", &format!("{from}..main")]), "1");

    let world = World::with_forge_settings(Dialect::GitHub, &merging(), "[merge]\nby = \"local\"");
    world.sandbox.run_to(0).said("merged into main as");
    assert_eq!(world.forge.calls().len(), 0);
    assert_eq!(world.sandbox.repo.git(&["show", "main:log.txt"]), "work");
}

#[test]
fn work_is_brought_onto_what_the_forge_has_and_gated_there_before_it_is_merged() {
    let world = World::new(Dialect::GitHub, &reviewed());
    let mut newer = String::new();
    meanwhile(&world, 0, || newer = pushed(&world, "other.txt", "other\n"));
    merged_once(&world, &newer, "after another's push");
    assert!(world.sandbox.leg_file(3, "check-check.log").exists());
    assert_eq!(story(&world), ["code pr_ready", "look approved", "merge done"]);
}

#[test]
fn work_that_is_red_on_what_the_forge_has_is_not_merged() {
    let workflow = reviewed()
        .replace("conflict =", "budgets = { test = 0 }\nconflict =")
        .replace("fix = \"mend\"\n", "");
    let at = workflow.find("[stages.mend]").unwrap();
    let end = workflow[at..].find("\n\n").unwrap() + at;
    let world = World::new(Dialect::GitHub, &[&workflow[..at], &workflow[end..]].concat());
    let mut newer = String::new();
    meanwhile(&world, 3, || newer = pushed(&world, "strict.txt", "x\n"));
    assert_eq!(first(&world), newer);
    assert_eq!((merges(&world).len(), world.forge.pulls().len()), (0, 0));
}

#[test]
fn work_that_conflicts_with_what_the_forge_has_is_resolved_and_then_merged() {
    let world = World::new(Dialect::GitLab, &reviewed());
    meanwhile(&world, 0, || drop(pushed(&world, "log.txt", "theirs\n")));
    let expected = ["code pr_ready", "look approved", "merge conflict", "resolve resolved", "merge done"];
    assert_eq!(story(&world), expected);
    let bare = world.forge.repository("acme/widget");
    assert_eq!(repo::git(&bare, &["show", "main:log.txt"]), "theirs\nwork");
}

/// Kills the harness at each such point, each time in a task of its own.
fn killed(dialect: Dialect, point: &str) {
    let faulty = |which: usize| {
        let World { forge, sandbox } = World::new(dialect, &merging());
        let marker = sandbox.place("marker");
        let sandbox = sandbox.with("ACQUIT_FAULT", format!("{point}:{which}:{}", marker.display()));
        (World { forge, sandbox }, marker)
    };
    let (world, marker) = faulty(999);
    world.sandbox.run_to(0);
    let points = read(&marker).len();
    assert!(points > 0, "{point} is passed");
    let each: Vec<usize> = (1..=points).collect();
    side_by_side(&each, |&which| {
        let (world, marker) = faulty(which);
        let from = first(&world);
        world.sandbox.run_to(0);
        let name = format!("{dialect:?}, killed at {point} {which} of {points}");
        assert!(read(&marker).len() >= which, "{name}: nobody was killed");
        let lost = world.sandbox.endings().iter().filter(|end| matches!(end, Ending::Lost { .. })).count();
        assert_eq!(lost, 1, "{name}");
        merged_once(&world, &from, &name);
    });
}

macro_rules! killed {
    ($($name:ident: $dialect:ident, $point:literal;)*) => {$(
        #[test]
        fn $name() {
            killed(Dialect::$dialect, $point);
        }
    )*};
}

killed! {
    killed_before_or_after_any_call_of_github_it_is_merged_once: GitHub, "forge";
    killed_before_or_after_any_call_of_gitlab_it_is_merged_once: GitLab, "forge";
    killed_before_the_order_it_is_merged_once: GitHub, "merge-planned";
    killed_after_the_order_it_is_merged_once: GitHub, "merge-moved";
    killed_after_the_order_it_is_merged_once_at_gitlab: GitLab, "merge-moved";
    killed_after_it_was_settled_it_is_merged_once: GitHub, "merge-settled";
    killed_in_the_queue_it_is_merged_once: GitHub, "merge-entered";
}

#[test]
fn an_order_whose_answer_is_lost_or_wrong_is_not_given_twice() {
    let faults = [(Fault::After(502), 1), (Fault::Cut, 1), (Fault::Before(503), 2)];
    let cases = [Dialect::GitHub, Dialect::GitLab].map(|dialect| faults.map(|fault| (dialect, fault)));
    side_by_side(cases.as_flattened(), |&(dialect, (fault, calls))| {
        let world = World::new(dialect, &merging());
        let from = first(&world);
        world.forge.fail("PUT", "/merge", fault);
        // At GitLab the path of every request has the word in it.
        world.sandbox.run_to(0);
        let name = format!("{dialect:?} {fault:?}");
        merged_once(&world, &from, &name);
        assert!(merges(&world).len() <= calls, "{name}: {:?}", merges(&world));
    });
}

#[test]
fn a_review_that_is_missing_is_told_to_a_person_and_its_answer_goes_on() {
    for (dialect, words) in
        [(Dialect::GitHub, "approving review is required"), (Dialect::GitLab, "not approved")]
    {
        let world = World::new(dialect, &merging());
        let from = first(&world);
        world.forge.require("acme/widget", Rule::Review);
        world.sandbox.run_to(3);
        let asked = question(&world);
        assert!(asked.contains(words) && asked.contains("acquit task answer T-1 --approve"), "{asked}");
        assert_eq!(first(&world), from);
        world.forge.edit(1, |pull| pull.approved = true);
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(0);
        merged_once(&world, &from, &format!("{dialect:?}"));
    }
}

#[test]
fn checks_that_run_are_waited_for_without_a_person() {
    side_by_side(&[Dialect::GitHub, Dialect::GitLab], |&dialect| {
        let world = World::new(dialect, &merging());
        let from = first(&world);
        world.forge.require("acme/widget", Rule::Checks);
        let run = world.sandbox.start(&["run", "Do it"]);
        until("it was tried", || merges(&world).contains(&405).then_some(()));
        world.forge.edit(1, |pull| pull.pipeline = Some("success".to_owned()));
        run.wait().must(0);
        merged_once(&world, &from, &format!("{dialect:?}"));
        let task = world.sandbox.task();
        let spent: Vec<&str> = task.spent.keys().map(acquit_core::ids::Name::as_str).collect();
        assert_eq!(spent, ["forge"], "no retry");
    });
}

#[test]
fn a_branch_that_somebody_else_moved_in_the_last_moment_is_not_merged() {
    let world = World::new(Dialect::GitHub, &merging());
    let from = first(&world);
    world.forge.fail("PUT", "/merge", Fault::Before(409));
    world.sandbox.run_to(3);
    assert!(question(&world).contains("somebody else pushed to the branch"), "{}", question(&world));
    assert_eq!(first(&world), from);
}

#[test]
fn what_a_person_merged_meanwhile_is_not_merged_again() {
    let world = World::new(Dialect::GitHub, &merging());
    let from = first(&world);
    world.forge.require("acme/widget", Rule::Review);
    world.sandbox.run_to(3);
    let head = world.forge.branch("acme/widget", BRANCH).unwrap();
    let bare = world.forge.repository("acme/widget");
    repo::git(&bare, &["update-ref", "refs/heads/main", &head]);
    world.forge.edit(1, |pull| {
        pull.state = "merged".to_owned();
        pull.merged_head = Some(head.clone());
        pull.merged_as = Some(head.clone());
    });
    let before = merges(&world).len();
    world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    world.sandbox.acquit(&["run", "T-1"]).must(0);
    merged_once(&world, &from, "by a person");
    assert_eq!(merges(&world).len(), before);
}

#[test]
fn what_is_irreversible_or_bound_to_an_approval_never_merges_by_itself() {
    for tag in ["irreversible", "approval"] {
        let world = World::new(Dialect::GitHub, &merging());
        let from = first(&world);
        world.sandbox.acquit(&["run", "Do it", "--tag", tag]).must(3);
        assert_eq!(
            (first(&world), merges(&world).len(), world.forge.pulls().len()),
            (from.clone(), 0, 0),
            "{tag}"
        );
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(0);
        merged_once(&world, &from, tag);
    }
}
