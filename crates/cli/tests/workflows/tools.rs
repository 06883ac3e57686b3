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

/// A stage that lists its commands, and then waits, so that the tree can be looked at.
const LISTED: &str = r#"
[stages.code]
mode = "implement"
instructions = "[[code]]"
commands = ["git", "printf ok"]
on = { pr_ready = ["done", "failed"] }
"#;

/// The agent, by itself, refuses what the stage does not list.
#[track_caller]
fn runs_only_what_is_listed(agent: Agent) {
    let report = serde_json::json!({ "outcome": "pr_ready", "payload": { "summary": "by acquit's tool" } });
    let scripts = Scripts::default().with(
        "code",
        vec![
            Step::bash("touch refused.txt"),
            Step::bash("git status && touch behind.txt"),
            Step::bash("git log $(touch inside.txt)"),
            Step::bash("git mv README.md MOVED.md"),
            Step::tool("report_outcome", report),
            Step::say("Done."),
        ],
    );
    let Some(live) = Live::new(agent, LISTED, scripts, More::default()) else { return };
    live.run("Try it", 3).said("pr_ready: by acquit's tool");
    let tree = live.sandbox.place("acquit/tasks/T-1/workspace/work");
    for name in ["refused.txt", "behind.txt", "inside.txt"] {
        assert!(!tree.join(name).exists(), "{name}: {}", live.told());
    }
    assert!(tree.join("MOVED.md").exists(), "nothing was run at all: {}", live.told());
}

#[test]
fn claude_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Claude);
}

/// Where its commands are listed, all its other tools are still there: to write files, and to report in a form.
#[test]
fn claude_writes_and_reports_where_its_commands_are_listed() {
    let report = serde_json::json!({ "outcome": "pr_ready", "payload": { "summary": "in a form" } });
    let steps =
        [Step::write("hello.txt", "hello\n"), Step::structured(report), Step::say("I have reported.")];
    let more = More { lines: "report = \"structured\"", ..More::default() };
    let scripts = Scripts::default().with("code", steps);
    let Some(live) = Live::new(Agent::Claude, LISTED, scripts, more) else { return };
    live.run("Try it", 3).said("pr_ready: in a form");
    assert!(live.sandbox.place("acquit/tasks/T-1/workspace/work/hello.txt").exists(), "{}", live.told());
}

#[test]
fn gemini_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Gemini);
}

#[test]
fn opencode_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Opencode);
}

/// SPEC: "Turn limit".
#[test]
fn claude_stops_at_the_turn_limit_of_its_stage() {
    let steps = ["one", "two", "three", "four"].map(|name| Step::bash(&format!("touch {name}")));
    let scripts = Scripts::default().with("code", steps);
    let workflow = format!(
        "budgets = {{ limit = 0 }}\n{}",
        LISTED.replace("commands = [\"git\", \"printf ok\"]", "turns = 2")
    );
    let Some(live) = Live::new(Agent::Claude, &workflow, scripts, More::default()) else { return };
    live.run("Try it", 3).said("it took all the turns that it has");
}

#[test]
fn the_check_of_a_workflow_warns_where_commands_are_only_told() {
    let limited = LISTED.replace("mode =", "turns = 40\nmode =");
    let sandbox = crate::common::Sandbox::new(crate::PROJECT, &limited, "");
    let told = "stage `code`: the agent `bot` cannot be held to its `commands`: it is only told";
    let turns = "stage `code`: the agent `bot` does not count its turns: `turns` has no effect";
    sandbox.acquit(&["workflow", "check", "flow"]).must(0).says(told).said(turns);
    let config = crate::common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let claude = config.replace("adapter = \"scripted\"\nscript = \"script.toml\"", "adapter = \"claude\"");
    sandbox.repo.write(".acquit/acquit.toml", &claude);
    let json = sandbox.acquit(&["workflow", "check", "flow", "--json"]).must(0).json();
    assert_eq!(json["warnings"], serde_json::json!([]));
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
