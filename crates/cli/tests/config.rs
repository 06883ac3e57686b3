//! The configuration in layers: built-in, the user's, the project's; and what `doctor` says of agents' unknown words.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_testkit::repo;
use common::Sandbox;

const WORKFLOW: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";

/// The user's own file.
fn user(sandbox: &Sandbox, text: &str) {
    sandbox.user_config(text);
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
fn what_the_command_line_says_of_agent_and_model_comes_last() {
    let config = "agent = \"day\"\n[agents.day]\nadapter = \"command\"\nrun = \"exit 1\"\n\
         [agents.night]\nadapter = \"claude\"\nprogram = \"@ROOT@/agent.sh\"\nmodel = \"slow\"\n\
         [models]\nfast = \"model-of-the-line\"\n";
    let workflow = WORKFLOW.replace("on =", "agent = \"day\"\nmodel = \"model-of-the-stage\"\non =");
    let sandbox = Sandbox::new(config, &workflow, "");
    let agent = sandbox.place("agent.sh");
    let success = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    repo::write(
        &agent,
        &format!(
            "#!/bin/sh\necho work > work.txt\necho \"$@\" > \"$ACQUIT_OUTPUT/arguments.txt\"\necho '{success}'\n"
        ),
    );
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();

    sandbox.acquit(&["run", "--agent", "night", "--model", "fast", "Do it"]).must(0);
    let arguments = common::read(&sandbox.leg_file(1, "out/arguments.txt"));
    assert!(arguments.contains("--model model-of-the-line"), "{arguments}");
    sandbox.acquit(&["run", "--agent", "nobody", "Do it"]).must(2).said("nobody");
}

#[test]
fn a_mistake_in_the_users_file_is_told_with_its_place() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    user(&sandbox, "agent = \"mine\"\ncolour = \"blue\"\n");
    let ran = sandbox.acquit(&["config", "show"]).must(2);
    ran.said(".config/acquit/config.toml:3:1: unknown key `colour`");
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

#[test]
fn the_files_of_the_demo_fit_the_schemas_that_are_printed() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    for (form, text) in
        [("workflow", include_str!("../demo/feature.toml")), ("config", include_str!("../demo/acquit.toml"))]
    {
        let schema = sandbox.acquit(&["schema", form]).must(0).json();
        let file = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(acquit_core::outcome::mistakes(&schema, &file), [""; 0], "{form}");
    }
}
