//! What a role's `tools` leave out is not offered to the model by agents that can be kept from it, and `acquit workflow check` names
//! the others.

use acquit_testkit::model::{Scripts, Step};

use crate::kit::{Agent, Live, More};
use crate::project;

/// Two stages alike, but for what their roles may use.
const FLOW: &str = r#"
[stages.free]
role = "free"
instructions = "[[free]]"
on = { drawn = "held" }
[stages.held]
role = "held"
instructions = "[[held]]"
on = { drawn = "done" }
"#;

/// The tools that the model was offered at a stage.
fn offered(live: &Live, stage: &str) -> String {
    let asked = live.model.scripted();
    let found = asked.iter().find(|one| one.step.as_ref().is_some_and(|(script, _)| script == stage));
    found.expect("a request of that stage").body["tools"].to_string()
}

/// Of these tools the agent offers each where it may use everything, and none where it may only read.
#[track_caller]
fn held(agent: Agent, tools: &[&str]) {
    let done = || vec![Step::say("Seen. <<<OUTCOME:drawn>>> {\"summary\": \"seen\"} <<<END_PAYLOAD>>>")];
    let scripts = Scripts::default().with("free", done()).with("held", done());
    let Some(live) = Live::new(agent, FLOW, scripts, More::default()) else { return };
    let role = |tools: &str| format!("+++\nmode = \"design\"\n{tools}+++\nYou look.\n");
    live.sandbox.repo.write(".acquit/agents/free.md", &role(""));
    live.sandbox.repo.write(".acquit/agents/held.md", &role("tools = [\"read\"]\n"));
    live.sandbox.repo.commit("roles");
    live.run("Look", 0);
    let (free, held) = (offered(&live, "free"), offered(&live, "held"));
    for tool in tools {
        let tool = format!("\"{tool}\"");
        assert!(free.contains(&tool), "{tool} is never offered: {free}");
        assert!(!held.contains(&tool), "{tool} is offered: {held}");
    }
}

#[test]
fn claude_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Claude, &["Bash", "Edit", "WebFetch", "WebSearch"]);
}

#[test]
fn codex_is_kept_from_the_web() {
    held(Agent::Codex, &["web_search"]);
}

#[test]
fn gemini_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Gemini, &["run_shell_command", "replace", "web_fetch", "google_web_search"]);
}

#[test]
fn opencode_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Opencode, &["bash", "webfetch"]);
}

#[test]
fn pi_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Pi, &["bash", "edit"]);
}

#[test]
fn the_check_of_a_workflow_warns_where_a_role_is_only_told() {
    let sandbox = project("");
    let told = "workflow `review`, stage `audit`: its role leaves out web, and the agent `bot` cannot be kept from that";
    sandbox.acquit(&["workflow", "check", "review"]).must(0).said(told);
    let json = sandbox.acquit(&["workflow", "check", "pipeline", "--json"]).must(0).json();
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("stage `stories`: its role leaves out run and web"), "{warnings}");
    assert!(!warnings.contains("edit"), "what documents' stages change is put aside: {warnings}");
    let config = crate::common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let claude = config.replace("adapter = \"scripted\"\nscript = \"script.toml\"", "adapter = \"claude\"");
    sandbox.repo.write(".acquit/acquit.toml", &claude);
    let json = sandbox.acquit(&["workflow", "check", "pipeline", "--json"]).must(0).json();
    assert_eq!(json["warnings"], serde_json::json!([]));
}
