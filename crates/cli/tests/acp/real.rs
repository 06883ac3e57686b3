//! The real programs, at the versions that are pinned, against a scripted model on the loopback: the same leg for each of them.

use acquit_core::leg::Ending;
use acquit_core::outcome::Source;
use acquit_testkit::agents;
use acquit_testkit::model::{Model, Scripts, Step, usual};
use serde_json::json;

use crate::CODE;
use crate::common::{Sandbox, read};

/// Writes a file, reports wrongly, and mends the report when the tool says so.
fn scripts() -> Scripts {
    let report = |outcome: &str, payload: serde_json::Value| {
        Step::tool("report_outcome", json!({ "outcome": outcome, "payload": payload }))
    };
    let question = json!({
        "question": "Which colour?", "options": [{ "name": "red", "trade_offs": "loud" }, { "name": "blue" }],
    });
    usual()
        .with(
            "leg",
            [
                Step::write("hello.txt", "hello\n").saying("I write a file."),
                report("pr_reddy", json!({})),
                report("pr_ready", json!({ "summary": "said hello" })),
                Step::say("All is done."),
            ],
        )
        .with("ask", [Step::tool("propose_options", question), Step::say("I stop.")])
}

/// An agent: its name, its command, its environment.
type Agent = (&'static str, Vec<&'static str>, Vec<(&'static str, String)>);

fn known(url: &str) -> Vec<Agent> {
    let value = |text: &str| text.to_owned();
    let codex = json!({
        "model": "gpt-5",
        "model_provider": "fake",
        "features": { "plugins": false },
        "model_providers": { "fake": {
            "name": "fake", "base_url": format!("{url}/v1"), "env_key": "FAKE_API_KEY", "wire_api": "responses",
            "request_max_retries": 1, "stream_max_retries": 1,
        } },
    });
    let opencode = json!({
        "model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "share": "disabled",
        "provider": { "fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "fake",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "{env:FAKE_API_KEY}" },
            "models": { "fake-model": { "name": "fake-model", "limit": { "context": 200_000, "output": 8_000 } } },
        } },
    });
    vec![
        (
            "claude-agent-acp",
            vec!["claude-agent-acp"],
            vec![
                ("ANTHROPIC_BASE_URL", value(url)),
                ("ANTHROPIC_API_KEY", value("x")),
                ("ENABLE_TOOL_SEARCH", value("false")),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", value("1")),
                ("CLAUDE_CODE_MAX_RETRIES", value("1")),
            ],
        ),
        (
            "gemini",
            vec!["gemini", "--acp", "-m", "gemini-2.5-pro"],
            vec![
                ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", value("@ROOT@/gemini.json")),
                ("GEMINI_API_KEY", value("x")),
                ("GOOGLE_GEMINI_BASE_URL", value(url)),
                ("GEMINI_CLI_NO_RELAUNCH", value("true")),
            ],
        ),
        (
            "codex-acp",
            vec!["codex-acp"],
            vec![
                ("FAKE_API_KEY", value("x")),
                ("NO_BROWSER", value("1")),
                ("CODEX_CONFIG", codex.to_string()),
            ],
        ),
        (
            "opencode",
            vec!["opencode", "acp"],
            vec![
                ("FAKE_API_KEY", value("x")),
                ("OPENCODE_DISABLE_MODELS_FETCH", value("1")),
                ("OPENCODE_DISABLE_AUTOUPDATE", value("1")),
                ("OPENCODE_CONFIG_CONTENT", opencode.to_string()),
            ],
        ),
    ]
}

/// A world in which this agent takes the stage; nothing where it is not installed.
fn world(name: &str, model: &Model) -> Option<Sandbox> {
    let bin = agents::bin()?;
    let known = known(&model.url());
    let (_, run, env) = known.into_iter().find(|(known, ..)| *known == name)?;
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
    let config = format!(
        "agent = \"bot\"\n[agents.bot]\nadapter = \"acp\"\nrun = {run:?}\nhosts = [\"127.0.0.1:{}\"]\nenv = {{ {} }}\n",
        model.port(),
        env.join(", ")
    );
    let sandbox = Sandbox::new(&config, CODE, "");
    // Gemini offers tools of others only in a folder that it trusts.
    let trusting = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "privacy": { "usageStatisticsEnabled": false },
    });
    std::fs::write(sandbox.place("gemini.json"), trusting.to_string()).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    Some(sandbox.with("PATH", path))
}

fn a_leg_with(name: &str) {
    let model = Model::start(scripts()).unwrap();
    let Some(sandbox) = world(name, &model) else { return };
    let ran = sandbox.acquit(&["run", "Say hello [[leg]]"]);
    let output = read(&sandbox.leg_file(1, "output.log"));
    let ran = ran.must(0);
    let Ending::Passed { outcome } = &sandbox.endings()[0] else { panic!("{name}: {output}") };
    assert_eq!(
        (outcome.source, outcome.summary().as_deref()),
        (Source::Tool, Some("said hello")),
        "{name}: {output}"
    );
    // By our own words, or by those of the agent, where that looks at the schema itself.
    let mistake = |line: &str| line.contains("\"ok\":false") && line.contains("tool_result");
    assert!(output.lines().any(mistake), "{name}: it saw its mistake: {output}");
    let usage = &sandbox.legs()[0].usage;
    assert!(usage.input > 0 && usage.output > 0, "{name}: {usage:?}");
    assert!(sandbox.task().past[0].session.is_some(), "{name}: {}", ran.err);
}

fn a_question_with(name: &str) {
    let model = Model::start(scripts()).unwrap();
    let Some(sandbox) = world(name, &model) else { return };
    sandbox.acquit(&["run", "Paint it [[ask]]"]).must(3).said("1) red");
    let session = sandbox.task().past[0].session.clone().unwrap().id;
    sandbox.acquit(&["answer", "T-1", "the first, and then [[leg]]"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    assert_eq!(sandbox.task().past[1].session.as_ref().unwrap().id, session, "{name}: the same conversation");
    let asked = model.scripted();
    let last = asked.last().unwrap().body.to_string();
    assert!(last.contains("[[ask]]"), "{name}: it still knows what it was told before");
}

#[test]
fn claude_takes_a_leg() {
    a_leg_with("claude-agent-acp");
}

#[test]
fn gemini_takes_a_leg() {
    a_leg_with("gemini");
}

#[test]
fn codex_takes_a_leg() {
    a_leg_with("codex-acp");
}

#[test]
fn opencode_takes_a_leg() {
    a_leg_with("opencode");
}

#[test]
fn claude_asks_and_goes_on_with_the_answer() {
    a_question_with("claude-agent-acp");
}

#[test]
fn codex_asks_and_goes_on_with_the_answer() {
    a_question_with("codex-acp");
}

#[test]
fn an_expired_login_is_a_request_to_a_person() {
    let model = Model::start(scripts()).unwrap();
    let Some(sandbox) = world("claude-agent-acp", &model) else { return };
    sandbox.acquit(&["run", "Do it [[401]]"]).must(3).said("is not logged in");
}
