//! Everything that can go wrong between a push and the end: exactly one request exists afterwards, and it is whole.

use acquit_core::leg::Ending;
use acquit_testkit::forge::{Dialect, Fault, Pull};

use crate::common::{read, side_by_side};
use crate::world::{BRANCH, TOKEN, WORKFLOW, World};

/// One request, as it would be undisturbed.
#[track_caller]
fn whole(world: &World, name: &str) {
    let pulls = world.forge.pulls();
    let [Pull { labels, reviewers, assignees, body, state, .. }] = pulls.as_slice() else {
        panic!("{name}: {} requests", pulls.len());
    };
    assert_eq!(state, "open", "{name}");
    assert_eq!(labels, &["acquit", "night"], "{name}");
    assert!(reviewers.contains(&"bob".to_owned()), "{name}: {reviewers:?}");
    assert!(assignees.contains(&"ada".to_owned()), "{name}: {assignees:?}");
    assert_eq!(body.matches("<!-- acquit: T-1 ").count(), 1, "{name}");
    let commit = world.forge.branch("acme/widget", BRANCH).expect("pushed");
    assert_eq!(world.sandbox.task().request().map(|request| request.commit.clone()), Some(commit), "{name}");
}

/// Kills the harness on each side of every call that changes something at the forge, each time in a task of its own.
fn killed(dialect: Dialect) {
    let world = World::new(dialect, WORKFLOW);
    let marker = world.sandbox.place("marker");
    let World { forge, sandbox } = world;
    let world =
        World { forge, sandbox: sandbox.with("ACQUIT_FAULT", format!("forge:999:{}", marker.display())) };
    world.sandbox.run_to(0);
    let points = read(&marker).len();
    assert!(points >= 6, "push, create and people, each from two sides: {points}");
    let each: Vec<usize> = (1..=points).collect();
    side_by_side(&each, |&which| {
        let world = World::new(dialect, WORKFLOW);
        let marker = world.sandbox.place("marker");
        let World { forge, sandbox } = world;
        let fault = format!("forge:{which}:{}", marker.display());
        let world = World { forge, sandbox: sandbox.with("ACQUIT_FAULT", fault) };
        world.sandbox.run_to(0);
        let name = format!("{dialect:?}, killed at point {which} of {points}");
        assert!(read(&marker).len() > which, "{name}: nobody was killed");
        let lost = world.sandbox.endings().iter().filter(|end| matches!(end, Ending::Lost { .. })).count();
        assert_eq!(lost, 1, "{name}");
        whole(&world, &name);
    });
}

#[test]
fn killed_before_or_after_any_call_of_github_one_request_exists() {
    killed(Dialect::GitHub);
}

#[test]
fn killed_before_or_after_any_call_of_gitlab_one_request_exists() {
    killed(Dialect::GitLab);
}

/// The calls that change something, by method and a part of their path.
fn calls(dialect: Dialect) -> Vec<(&'static str, &'static str)> {
    match dialect {
        Dialect::GitHub => vec![
            ("GET", "/pulls?"),
            ("POST", "/pulls"),
            ("POST", "/labels"),
            ("POST", "/assignees"),
            ("POST", "/requested_reviewers"),
        ],
        Dialect::GitLab => {
            vec![
                ("GET", "/merge_requests?"),
                ("POST", "/merge_requests"),
                ("PUT", "/merge_requests/1"),
                ("GET", "/users"),
            ]
        }
    }
}

/// Lets each of those calls go wrong in this way once, each time in a task of its own.
fn wrong(dialect: Dialect, fault: Fault) {
    side_by_side(&calls(dialect), |&(method, path)| {
        let world = World::new(dialect, WORKFLOW);
        world.forge.fail(method, path, fault);
        world.sandbox.run_to(0);
        whole(&world, &format!("{dialect:?} {method} {path} {fault:?}"));
    });
}

macro_rules! wrong {
    ($($name:ident: $dialect:ident, $fault:expr;)*) => {$(
        #[test]
        fn $name() {
            wrong(Dialect::$dialect, $fault);
        }
    )*};
}

// What is done about a call that fails is the same for both. At GitLab, the ordinary run tries the way in which least is known afterwards.
wrong! {
    a_call_of_github_that_fails_before_its_effect_is_made_again: GitHub, Fault::Before(502);
    a_call_of_github_that_fails_after_its_effect_is_not_repeated: GitHub, Fault::After(503);
    a_call_of_github_whose_answer_is_lost_is_not_repeated: GitHub, Fault::Cut;
    soak_a_call_of_gitlab_that_fails_before_its_effect_is_made_again: GitLab, Fault::Before(502);
    soak_a_call_of_gitlab_that_fails_after_its_effect_is_not_repeated: GitLab, Fault::After(503);
    a_call_of_gitlab_whose_answer_is_lost_is_not_repeated: GitLab, Fault::Cut;
}

#[test]
fn a_rate_limit_is_waited_for_and_spends_no_retry() {
    for (dialect, method, path) in
        [(Dialect::GitHub, "POST", "/pulls"), (Dialect::GitLab, "GET", "/merge_requests?")]
    {
        let world = World::new(dialect, WORKFLOW);
        world.forge.fail(method, path, Fault::Limit(1));
        world.sandbox.run_to(0);
        whole(&world, "after a limit");
        let held: Vec<String> = world
            .sandbox
            .endings()
            .iter()
            .filter(|ending| matches!(ending, Ending::Held { .. }))
            .filter_map(Ending::trouble)
            .collect();
        assert_eq!(held.len(), 1);
        assert!(held[0].starts_with("waits 2.0s for the forge"), "{held:?}");
        let task = world.sandbox.task();
        let spent: Vec<&str> = task.spent.keys().map(acquit_core::ids::Name::as_str).collect();
        assert_eq!(spent, ["forge"], "no other budget");
    }
}

#[test]
fn a_forge_that_is_away_for_longer_is_asked_again_and_again() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    for _ in 0..3 {
        world.forge.fail("POST", "/pulls", Fault::Before(503));
    }
    let started = world.sandbox.start(&["run", "Do it"]);
    started.wait_within(std::time::Duration::from_mins(2)).must(0);
    whole(&world, "after three times");
    assert!(!read(&world.sandbox.place("said/0.err")).contains(TOKEN));
}
