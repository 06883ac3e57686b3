//! Delivery to a forge: one request with its evidence, however often and wherever it is interrupted, and nobody's work lost.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "forge/audience.rs"]
mod audience;
#[path = "forge/base.rs"]
mod base;
#[path = "forge/broken.rs"]
mod broken;
mod common;
#[path = "forge/draft.rs"]
mod draft;
#[path = "forge/evidence.rs"]
mod evidence;
#[path = "forge/feedback.rs"]
mod feedback;
#[path = "forge/merging.rs"]
mod merging;
#[path = "forge/network.rs"]
mod network;
#[path = "forge/openapi.rs"]
mod openapi;
#[path = "forge/people.rs"]
mod people;
#[path = "forge/queue.rs"]
mod queue;
#[path = "forge/secret.rs"]
mod secret;
#[path = "forge/server.rs"]
mod server;
#[path = "forge/signing.rs"]
mod signing;
#[path = "forge/world.rs"]
mod world;

use acquit_core::artifact::Artifact;
use acquit_testkit::forge::Dialect;

use world::{BRANCH, TOKEN, World};

/// What both dialects must come to.
fn becomes_a_request(dialect: Dialect) {
    let world = World::new(dialect, world::WORKFLOW);
    world.sandbox.run_to(0).said("has a new request: http://127.0.0.1:");
    let pulls = world.forge.pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    let task = world.sandbox.task();
    let commit = world.forge.branch("acme/widget", BRANCH).expect("the branch was pushed");
    assert_eq!(
        world.sandbox.repo.git(&["rev-parse", BRANCH]),
        commit,
        "the same commit as in the repository"
    );
    let request = task.request().expect("an artifact");
    assert_eq!((request.number, request.commit.as_str()), (1, commit.as_str()));
    let pushed = task.artifacts.iter().any(|artifact| match artifact {
        Artifact::Pushed { branch, commits, .. } => branch == BRANCH && *commits == [commit.clone()],
        _ => false,
    });
    assert!(pushed, "{:?}", task.artifacts);

    assert_eq!((pull.head.as_str(), pull.base.as_str(), pull.author.as_str()), (BRANCH, "main", "ada"));
    assert!(pull.draft);
    assert_eq!(pull.labels, ["acquit", "night"]);
    assert_eq!(pull.assignees, ["ada"]);
    match dialect {
        Dialect::GitHub => {
            assert_eq!(pull.title, "[acquit] Do it");
            assert_eq!(pull.reviewers, ["bob", "team:core"]);
        }
        Dialect::GitLab => {
            assert_eq!(pull.title, "Draft: [acquit] Do it");
            assert_eq!(pull.reviewers, ["bob"]);
            assert!(pull.squash);
        }
    }
    for words in [
        "<!-- acquit: T-1 ",
        "## What was asked\n\n> Do it\n",
        "1 file, +1 −0",
        "> - code: written, thanks to @\u{200b}ada, fixes #\u{200b}7",
        "| check | passed |",
        "$0.02",
        "grep -q work log.txt",
        "> - a database: too heavy",
        "<!-- /acquit -->",
    ] {
        assert!(pull.body.contains(words), "{words:?} is not in\n{}", pull.body);
    }
    // The names of those who are asked come from the configuration, and one of them does not exist.
    let warned = world.sandbox.acquit(&["logs", "T-1"]).must(0).out;
    assert!(warned.contains("nobody") || warned.contains("collaborator"), "{warned}");
    assert!(!pull.body.contains(TOKEN));
}

#[test]
fn a_task_becomes_a_request_at_github() {
    becomes_a_request(Dialect::GitHub);
}

#[test]
fn a_task_becomes_a_request_at_gitlab() {
    becomes_a_request(Dialect::GitLab);
}

#[test]
fn a_second_publishing_updates_the_request_and_keeps_what_people_wrote() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let workflow = world::WORKFLOW.replace("done = \"done\"", "done = \"again\"")
            + r#"
[stages.again]
kind = "human"
question = "More?"
on = { approved = "more", rejected = "done" }
[stages.more]
mode = "implement"
gates = ["check"]
on = { pr_ready = "republish" }
[stages.republish]
kind = "action"
action = "publish"
on = { done = "done" }
"#;
        let world = World::new(dialect, &workflow);
        world.sandbox.run_to(3);
        let first = world.forge.branch("acme/widget", BRANCH).unwrap();
        world.forge.edit(1, |pull| {
            pull.body = format!("Please look at the names.\n\n{}\n\nThanks", pull.body);
            pull.title = "Mine now".to_owned();
            pull.reviewers.clear();
        });
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(0).said("is up to date");
        let pulls = world.forge.pulls();
        let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
        let second = world.forge.branch("acme/widget", BRANCH).unwrap();
        assert_ne!(first, second, "the branch moved");
        assert!(pull.body.starts_with("Please look at the names.\n\n<!-- acquit: T-1 "), "{}", pull.body);
        assert!(pull.body.ends_with("<!-- /acquit -->\n\nThanks"), "{}", pull.body);
        assert!(pull.body.contains("> - more: more of it"), "{}", pull.body);
        assert_eq!(pull.title, "Mine now");
        assert!(pull.reviewers.is_empty(), "nobody is asked twice: {:?}", pull.reviewers);
    }
}

#[test]
fn a_fork_is_pushed_to_and_the_request_is_made_upstream() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::with_forge_settings(dialect, world::WORKFLOW, "push_remote = \"fork\"");
        world.forge.fork("acme/widget", "ada/widget");
        world.sandbox.repo.git(&["remote", "add", "fork", &world.forge.url("ada/widget")]);
        world.sandbox.run_to(0);
        let pulls = world.forge.pulls();
        let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
        assert_eq!((pull.project.as_str(), pull.source.as_str()), ("acme/widget", "ada/widget"));
        assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
        assert!(world.forge.branch("ada/widget", BRANCH).is_some());
    }
}

#[test]
fn a_fork_is_told_from_its_remotes_and_follows_the_base_of_what_it_is_a_fork_of() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, world::WORKFLOW);
        world.forge.fork("acme/widget", "ada/widget");
        world.sandbox.repo.git(&["remote", "rename", "origin", "upstream"]);
        world.sandbox.repo.git(&["remote", "add", "origin", &world.forge.url("ada/widget")]);
        // Somebody pushed to the project; the fork and the user's repository have not followed yet.
        let newer = base::pushed(&world, "other.txt", "other\n");
        world.sandbox.run_to(0);
        let pulls = world.forge.pulls();
        let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
        assert_eq!((pull.project.as_str(), pull.source.as_str()), ("acme/widget", "ada/widget"));
        assert_eq!(world.forge.branch("acme/widget", BRANCH), None);
        let fork = world.forge.repository("ada/widget");
        assert_eq!(acquit_testkit::repo::git(&fork, &["rev-parse", &format!("{BRANCH}^")]), newer);
    }
}

#[test]
fn the_work_of_a_fork_is_merged_into_what_it_is_a_fork_of() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let world = World::new(dialect, &merging::merging());
        world.forge.fork("acme/widget", "ada/widget");
        world.sandbox.repo.git(&["remote", "rename", "origin", "upstream"]);
        world.sandbox.repo.git(&["remote", "add", "origin", &world.forge.url("ada/widget")]);
        world.sandbox.run_to(0);
        let project = world.forge.repository("acme/widget");
        assert_eq!(acquit_testkit::repo::git(&project, &["show", "main:log.txt"]), "work");
        assert_eq!(world.forge.pulls()[0].state, "merged");
    }
}

#[test]
fn without_a_forge_the_work_ends_on_its_branch() {
    let world = World::new(Dialect::GitHub, world::WORKFLOW);
    world.sandbox.repo.git(&["remote", "remove", "origin"]);
    world.sandbox.run_to(0).said("no request was made: the repository has no remote `origin`");
    assert_eq!(world.forge.calls().len(), 0);
    assert!(world.sandbox.refs("refs/heads/").contains(&format!("refs/heads/{BRANCH}")));
}

#[test]
fn a_forge_merges_by_itself_only_when_it_waits_for_something() {
    for (dialect, running) in [(Dialect::GitHub, "pending"), (Dialect::GitLab, "running")] {
        let workflow = world::WORKFLOW.replace("draft = true", "auto_merge = true");
        let world = World::new(dialect, &workflow);
        world.sandbox.run_to(0).said("the forge does not merge it by itself");
        let pull = world.forge.pulls().remove(0);
        assert_eq!((pull.state.as_str(), pull.auto_merge), ("open", None), "{dialect:?}: merged unseen");

        let workflow = workflow.replace("done = \"done\"", "done = \"wait\"")
            + "[stages.wait]\nkind = \"human\"\nquestion = \"?\"\non = { approved = \"re\" }\n\
               [stages.re]\nkind = \"action\"\naction = \"publish\"\nauto_merge = true\non = { done = \"done\" }\n";
        let world = World::new(dialect, &workflow);
        world.sandbox.run_to(3);
        world.forge.edit(1, |pull| pull.pipeline = Some(running.to_owned()));
        world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
        world.sandbox.acquit(&["run", "T-1"]).must(0);
        let pull = world.forge.pulls().remove(0);
        assert_eq!(pull.state, "open", "{dialect:?}");
        assert_eq!(
            pull.auto_merge,
            world.forge.branch("acme/widget", BRANCH),
            "{dialect:?}: bound to the commit"
        );
    }
}
