//! Tests the scripted model with the real agent programs: each must accept the streamed protocol.
#![allow(clippy::disallowed_methods, reason = "a test starts the programs it is about")]
#![allow(clippy::disallowed_macros, reason = "what a program said is shown when its test fails")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use acquit_testkit::agents;
use acquit_testkit::model::{Model, Scripts, Step, Stop, usual};
use serde_json::{Value, json};

/// In seconds, for `timeout`; a loaded machine needs a quarter of it.
const LIMIT: &str = "100";

/// A model, a folder with a repository, and a home.
struct Lab {
    model: Model,
    folder: tempfile::TempDir,
}

impl Lab {
    fn new(scripts: Scripts) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "home", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let init = ["-c", "init.defaultBranch=main", "init", "-q"];
        let git = Command::new("git").args(init).arg(folder.path().join("work")).status().expect("git");
        assert!(git.success());
        Self { model: Model::start(scripts).expect("a model"), folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, content: &Value) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, content.to_string()).expect("a file");
        path.display().to_string()
    }

    /// Runs a program in the repository with this prompt on stdin, without the machine's environment.
    fn run(&self, bin: &Path, arguments: &[&str], variables: &[(&str, &str)], prompt: &str) -> Output {
        let input = self.path("prompt");
        std::fs::write(&input, prompt).expect("a prompt");
        let mut command = Command::new("timeout");
        command.arg("--kill-after=5").arg(LIMIT).arg(bin.join(arguments[0])).args(&arguments[1..]);
        command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp")).env("LANG", "C.UTF-8");
        command.envs(variables.iter().copied()).current_dir(self.path("work"));
        command.stdin(std::fs::File::open(input).expect("the prompt")).stderr(Stdio::piped());
        command.output().expect("it starts")
    }

    fn written(&self) -> Option<String> {
        std::fs::read_to_string(self.path("work/hello.txt")).ok()
    }

    fn claude(&self, bin: &Path, more: &[&str], prompt: &str) -> Vec<Value> {
        let arguments =
            ["claude", "-p", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash,Write"];
        let url = self.model.url();
        let mut variables = vec![("ANTHROPIC_BASE_URL", url.as_str()), ("CLAUDE_CODE_MAX_RETRIES", "1")];
        variables.extend(QUIET);
        // A subscription login and an API key exclude each other.
        let credential =
            if prompt.contains("limit") { "CLAUDE_CODE_OAUTH_TOKEN" } else { "ANTHROPIC_API_KEY" };
        variables.push((credential, "dummy"));
        lines(&self.run(bin, &[&arguments, more].concat(), &variables, prompt))
    }

    fn codex(&self, bin: &Path, more: &[&str], prompt: &str) -> Vec<Value> {
        let url = format!("openai_base_url=\"{}/v1\"", self.model.url());
        let arguments =
            ["codex", "exec", "--json", "-s", "danger-full-access", "--disable", "plugins", "-c", &url];
        let last = ["--ephemeral", "-m", "gpt-5", "-"];
        let output =
            self.run(bin, &[&arguments, more, &last].concat(), &[("CODEX_API_KEY", "dummy")], prompt);
        lines(&output)
    }

    fn pi(&self, bin: &Path, api: &str, prompt: &str) -> Vec<Value> {
        let url = match api {
            "anthropic-messages" => self.model.url(),
            _ => format!("{}/v1", self.model.url()),
        };
        let known = json!({"id": "m", "name": "m", "contextWindow": 200_000, "maxTokens": 8000,
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}});
        let provider = json!({"baseUrl": url, "api": api, "apiKey": "$SOME_KEY", "models": [known]});
        self.file("pi/models.json", &json!({"providers": {"scripted": provider}}));
        let folder = self.path("pi").display().to_string();
        let arguments =
            ["pi", "-p", "--mode", "json", "--provider", "scripted", "--model", "m", "--no-session"];
        let variables = [("SOME_KEY", "dummy"), ("PI_OFFLINE", "1"), ("PI_CODING_AGENT_DIR", &folder)];
        lines(&self.run(bin, &arguments, &variables, prompt))
    }

    fn gemini(&self, bin: &Path, prompt: &str) -> Vec<Value> {
        let settings = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
            "privacy": {"usageStatisticsEnabled": false}, "general": {"maxAttempts": 1},
        });
        self.file("gemini/.gemini/settings.json", &settings);
        let folder = self.path("gemini").display().to_string();
        let url = self.model.url();
        let arguments =
            ["gemini", "--output-format", "stream-json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"];
        let variables = [
            ("GEMINI_CLI_HOME", folder.as_str()),
            ("GEMINI_API_KEY", "dummy"),
            ("GOOGLE_GEMINI_BASE_URL", &url),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ];
        lines(&self.run(bin, &arguments, &variables, prompt))
    }
}

/// Keeps Claude Code from contacting anything else.
const QUIET: [(&str, &str); 3] = [
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// Parses the JSON lines on stdout; prints the rest for a failing test.
fn lines(output: &Output) -> Vec<Value> {
    print!("{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the last line of this kind.
fn last<'a>(lines: &'a [Value], kind: &str) -> &'a Value {
    lines.iter().rev().find(|line| line["type"] == kind).unwrap_or_else(|| panic!("no `{kind}`"))
}

#[test]
fn claude_works_answers_in_form_and_meets_its_limit() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual().with("limit", [Step::usage_limit(1_900_000_000)]));
    let told = lab.claude(&bin, &[], "[[edit]]");
    assert_eq!(last(&told, "result")["result"], "I have done it.");
    assert_eq!(last(&told, "result")["usage"]["input_tokens"], 3000, "three answers");
    assert_eq!(lab.written().as_deref(), Some("hello\n"));

    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}}).to_string();
    let told = lab.claude(&bin, &["--json-schema", &schema], "[[structured]]");
    assert_eq!(last(&told, "result")["structured_output"], json!({"answer": "yes"}));

    let told = lab.claude(&bin, &[], "[[limit]]");
    assert_eq!(last(&told, "rate_limit_event")["rate_limit_info"]["resetsAt"], 1_900_000_000);
    assert_eq!(last(&told, "result")["api_error_status"], 429);
}

#[test]
fn claude_sees_each_fault_for_what_it_is() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    for (script, status) in [("529", json!(529)), ("401", json!(401)), ("drop", Value::Null)] {
        let told = lab.claude(&bin, &[], &format!("[[{script}]]"));
        let result = last(&told, "result");
        assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &status), "{script}");
    }
    let told = lab.claude(&bin, &[], "[[500-once]]");
    assert_eq!(last(&told, "result")["result"], "I have done it.", "it tried again");
    assert_eq!(last(&lab.claude(&bin, &[], "[[refusal]]"), "result")["is_error"], true);
}

#[test]
fn codex_works_answers_in_form_and_sees_faults() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    let told = lab.codex(&bin, &[], "[[edit]]");
    assert_eq!(last(&told, "turn.completed")["usage"]["input_tokens"], 3600, "three answers");
    assert_eq!(lab.written().as_deref(), Some("hello\n"));
    let sent = lab.model.scripted();
    assert_eq!(sent[0].header("authorization"), Some("Bearer (withheld)"), "the key was not sent");

    let schema = lab.file("schema.json", &json!({"type": "object"}));
    let told = lab.codex(&bin, &["--output-schema", &schema], "[[structured]]");
    assert_eq!(last(&told, "item.completed")["item"]["text"], "{\"answer\":\"yes\"}");
    for script in ["401", "max-tokens", "sse-error"] {
        let told = lab.codex(&bin, &[], &format!("[[{script}]]"));
        assert!(last(&told, "turn.failed")["error"]["message"].is_string(), "{script}");
    }
}

#[test]
fn pi_works_over_three_protocols_and_sees_faults() {
    let Some(bin) = agents::bin() else { return };
    for api in ["anthropic-messages", "openai-completions", "openai-responses"] {
        let lab = Lab::new(usual().with("long", [Step::stopped("and on", Stop::MaxTokens)]));
        let told = lab.pi(&bin, api, "[[edit]]");
        let messages = last(&told, "agent_end")["messages"].as_array().cloned().unwrap_or_default();
        let done = messages.last().expect("a message");
        assert_eq!(done["content"][0]["text"], "I have done it.", "{api}");
        assert_eq!(
            (&done["usage"]["output"], &done["usage"]["cacheRead"]),
            (&json!(50), &json!(200)),
            "{api}"
        );
        assert_eq!(lab.written().as_deref(), Some("hello\n"), "{api}");
        for (script, stop) in [("400", "error"), ("long", "length")] {
            let told = lab.pi(&bin, api, &format!("[[{script}]]"));
            assert_eq!(last(&told, "turn_end")["message"]["stopReason"], stop, "{api} {script}");
        }
    }
}

#[test]
fn gemini_works_and_sees_faults() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    let told = lab.gemini(&bin, "[[edit]]");
    assert_eq!(last(&told, "result")["status"], "success");
    assert_eq!(last(&told, "result")["stats"]["output_tokens"], 150, "three answers");
    assert_eq!(lab.written().as_deref(), Some("hello\n"));
    assert_eq!(last(&lab.gemini(&bin, "[[401]]"), "result")["status"], "error");
}

#[test]
fn opencode_works() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    let known = json!({"name": "m", "limit": {"context": 200_000, "output": 8000}});
    let options = json!({"baseURL": format!("{}/v1", lab.model.url()), "apiKey": "{env:SOME_KEY}"});
    let provider =
        json!({"npm": "@ai-sdk/openai-compatible", "name": "s", "options": options, "models": {"m": known}});
    let settings = json!({
        "model": "s/m", "small_model": "s/m", "autoupdate": false, "share": "disabled", "provider": {"s": provider},
    });
    let variables = [
        ("OPENCODE_CONFIG_CONTENT", settings.to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("SOME_KEY", "dummy".to_owned()),
        // Block what it downloads in the background.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ];
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let told =
        lines(&lab.run(&bin, &["opencode", "run", "--format", "json", "-m", "s/m"], &variables, "[[edit]]"));
    assert_eq!(last(&told, "text")["part"]["text"], "I have done it.");
    assert_eq!(last(&told, "step_finish")["part"]["tokens"]["output"], 50);
    assert_eq!(lab.written().as_deref(), Some("hello\n"));
}

#[test]
fn aider_works() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    let known = json!({"max_tokens": 8000, "max_input_tokens": 200_000, "input_cost_per_token": 0.000_003,
        "output_cost_per_token": 0.000_015, "litellm_provider": "openai", "mode": "chat"});
    let known = lab.file("models.json", &json!({"openai/m": known}));
    let url = format!("{}/v1", lab.model.url());
    let variables = [
        ("OPENAI_API_KEY", "dummy"),
        ("OPENAI_API_BASE", url.as_str()),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ];
    let prompt = lab.path("prompt").display().to_string();
    let arguments =
        ["aider", "--model", "openai/m", "--model-metadata-file", &known, "--yes-always", "--no-pretty"];
    let quiet = ["--no-check-update", "--analytics-disable", "--no-gitignore", "--no-show-model-warnings"];
    let last = [
        "--edit-format",
        "diff",
        "--map-tokens",
        "0",
        "--no-auto-commits",
        "--no-stream",
        "--message-file",
        &prompt,
    ];
    let output = lab.run(&bin, &[&arguments[..], &quiet, &last].concat(), &variables, "[[write]]");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Applied edit to hello.txt") && said.contains("I have done it."), "{said}");
    assert_eq!(lab.written().as_deref(), Some("hello\n"));
}

#[test]
fn an_agent_that_waits_for_a_hanging_model_can_be_ended() {
    let Some(bin) = agents::bin() else { return };
    let lab = Lab::new(usual());
    let url = lab.model.url();
    let mut command = Command::new(bin.join("claude"));
    command.args(["-p", "[[stall]]"]).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", lab.path("home"));
    command.envs([("ANTHROPIC_BASE_URL", url.as_str()), ("ANTHROPIC_API_KEY", "dummy")]).envs(QUIET);
    command.current_dir(lab.path("work")).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    assert!(lab.model.wait_for(1, Duration::from_mins(1)), "it never asked");
    assert!(child.try_wait().expect("its state").is_none(), "it did not wait for the rest of the answer");
    child.kill().expect("it ends");
    child.wait().expect("it ended");
}
