//! The configuration in layers: built-in, the user's, the project's; and what `doctor` says of agents' unknown words.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use acquit_testkit::repo;
use common::Sandbox;

const WORKFLOW: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";

/// The user's own file.
fn user(sandbox: &Sandbox, text: &str) {
    repo::write(&sandbox.place("home/.config/acquit/config.toml"), text);
}

#[test]
fn a_value_comes_from_the_last_file_that_has_it_and_its_origin_is_told() {
    let config = "agent = \"night\"\n[models]\nfast = \"project-fast\"\n[waiting]\nlongest = \"3h\"\n";
    let sandbox = Sandbox::new(config, WORKFLOW, "");
    user(
        &sandbox,
        "agent = \"day\"\n[agents.day]\nadapter = \"claude\"\nmodel = \"fast\"\n[agents.night]\nadapter = \"command\"\n\
         run = [\"true\"]\n[models]\nfast = \"user-fast\"\nslow = \"user-slow\"\n[waiting]\nslack = \"2m\"\n",
    );
    let shown = sandbox.acquit(&["config", "show", "--json"]).must(0).json();
    let value = |key: &str| (shown[key]["value"].clone(), shown[key]["origin"].as_str().unwrap().to_owned());
    assert_eq!(value("agent"), ("night".into(), "project".to_owned()));
    assert_eq!(value("agents.day.adapter"), ("claude".into(), "user".to_owned()));
    assert_eq!(value("agents.night.run"), (serde_json::json!(["true"]), "user".to_owned()));
    assert_eq!(value("models.fast"), ("project-fast".into(), "project".to_owned()));
    assert_eq!(value("models.slow"), ("user-slow".into(), "user".to_owned()));
    assert_eq!(value("branch_prefix"), ("acquit/".into(), "built-in".to_owned()));
    assert_eq!(value("waiting.longest"), (10_800_000.into(), "project".to_owned()));
    assert_eq!(value("waiting.slack"), (120_000.into(), "user".to_owned()));
    assert_eq!(value("waiting.usage"), ("wait".into(), "built-in".to_owned()));
    let words = sandbox.acquit(&["config", "show", "--origin"]).must(0);
    words.said("models.fast = \"project-fast\"  # ");
    words.said("branch_prefix = \"acquit/\"  # built-in");
}

#[test]
fn an_agent_of_the_users_takes_the_tasks_of_a_project_that_has_none() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    user(
        &sandbox,
        "agent = \"mine\"\n[agents.mine]\nadapter = \"command\"\nrun = \"echo work > work.txt\"\n",
    );
    sandbox.run_to(0);
}

#[test]
fn a_mistake_in_the_users_file_is_told_with_its_place() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    user(&sandbox, "agent = \"mine\"\ncolour = \"blue\"\n");
    let ran = sandbox.acquit(&["config", "show"]).must(2);
    ran.said(".config/acquit/config.toml:2:1: unknown key `colour`");
    ran.said("unknown agent `mine`");
}

#[test]
fn what_agents_say_and_nobody_knows_is_counted_by_doctor() {
    let script = "[[code]]\nstep = [\n{ print = '{\"type\":\"unknown\",\"kind\":\"telepathy\"}' },\n\
                  { print = '{\"type\":\"unknown\",\"kind\":\"telepathy\"}' },\n{ write = \"work.txt\", content = \"x\" },\n]\n";
    let sandbox = Sandbox::scripted(WORKFLOW, script);
    let before = sandbox.acquit(&["doctor"]);
    before.said("all that agents printed lately is understood");
    sandbox.run_to(0);
    sandbox.acquit(&["doctor"]).said("scripted: telepathy (2 times)");
}
