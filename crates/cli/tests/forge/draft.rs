//! A request becomes a draft, or stops being one, when the workflow wants that; and stays what a person made of it.

use acquit_testkit::forge::{Dialect, Fault};

use crate::common::side_by_side;
use crate::world::{WORKFLOW, World};

/// A workflow that publishes, asks a person, and publishes again.
pub(crate) fn two(first: &str, second: &str) -> String {
    let first = WORKFLOW.replace("draft = true\n", first);
    first.replace("done = \"done\"", "done = \"again\"")
        + &format!(
            r#"
[stages.again]
kind = "human"
question = "More?"
on = {{ approved = "republish", rejected = "done" }}
[stages.republish]
kind = "action"
action = "publish"
{second}
on = {{ done = "again" }}
"#
        )
}

fn go_on(world: &World) {
    world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    world.sandbox.acquit(&["run", "T-1"]).must(3);
}

/// Whether it is a draft, and its title.
fn seen(world: &World) -> (bool, String) {
    let pulls = world.forge.pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    (pull.draft, pull.title.clone())
}

/// How often something was asked to be a draft or none.
fn turns(world: &World) -> usize {
    let is_turn = |text: &str| text.contains("ReadyForReview") || text.contains("ToDraft");
    let calls = world.forge.calls();
    calls
        .iter()
        .filter(|call| {
            is_turn(&call.body.to_string()) || (call.method == "PUT" && call.body.get("title").is_some())
        })
        .count()
}

#[test]
fn a_draft_becomes_ready_and_a_ready_request_a_draft_once() {
    side_by_side(&[Dialect::GitHub, Dialect::GitLab], |&dialect| {
        for (first, second, is) in
            [("draft = true", "draft = false", true), ("draft = false", "draft = true", false)]
        {
            let world = World::new(dialect, &two(&format!("{first}\n"), second));
            world.sandbox.run_to(3);
            let titled = |draft: bool| match dialect {
                Dialect::GitLab if draft => "Draft: [acquit] Do it".to_owned(),
                Dialect::GitLab | Dialect::GitHub => "[acquit] Do it".to_owned(),
            };
            assert_eq!(seen(&world), (is, titled(is)), "{dialect:?} {first}");
            assert_eq!(turns(&world), 0, "it was made so");
            go_on(&world);
            assert_eq!(seen(&world), (!is, titled(!is)), "{dialect:?} {second}");
            assert_eq!(turns(&world), 1);
            // Again, and a person has turned it back meanwhile: the workflow wants nothing new.
            world.forge.edit(1, |pull| {
                pull.draft = is;
                pull.title = titled(is);
            });
            go_on(&world);
            assert_eq!(seen(&world), (is, titled(is)), "{dialect:?}: a person's choice stays");
            assert_eq!(turns(&world), 1);
        }
    });
}

#[test]
fn a_title_that_a_person_wrote_only_loses_its_mark() {
    let world = World::new(Dialect::GitLab, &two("draft = true\n", "draft = false"));
    world.sandbox.run_to(3);
    world.forge.edit(1, |pull| pull.title = "[Draft] Draft: My own words".to_owned());
    go_on(&world);
    assert_eq!(seen(&world), (false, "My own words".to_owned()));
}

#[test]
fn turning_that_fails_on_either_side_of_its_effect_ends_well() {
    for (dialect, method, path) in
        [(Dialect::GitHub, "POST", "/graphql"), (Dialect::GitLab, "PUT", "/merge_requests/1")]
    {
        side_by_side(&[Fault::Before(502), Fault::After(502), Fault::Cut], |&fault| {
            let world = World::new(dialect, &two("draft = true\n", "draft = false"));
            world.sandbox.run_to(3);
            world.forge.fail(method, path, fault);
            go_on(&world);
            assert!(!seen(&world).0, "{dialect:?} {fault:?}");
        });
    }
}

#[test]
fn a_forge_that_allows_no_drafts_is_told_and_does_not_stop_the_work() {
    let world = World::new(Dialect::GitHub, &two("draft = true\n", "draft = false"));
    world.sandbox.run_to(3);
    world.forge.fail("POST", "/graphql", Fault::Before(422));
    world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    world
        .sandbox
        .acquit(&["run", "T-1"])
        .must(3)
        .said("mark the pull request as ready: the forge says no (422)");
}
