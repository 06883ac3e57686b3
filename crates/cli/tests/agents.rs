//! `acquit agents`, with programs that stand in for the real ones.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests may panic, set up files and start the binary"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn program(folder: &Path, name: &str, script: &str) {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for folder in ["bin", "home", "empty"] {
            fs::create_dir(machine.0.path().join(folder)).unwrap();
        }
        machine
    }

    fn agents(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let at = |name: &str| self.0.path().join(name);
        Command::new(env!("CARGO_BIN_EXE_acquit"))
            .arg("agents")
            .args(arguments)
            .current_dir(at("empty"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", at("bin").display()))
            .env("HOME", at("home"))
            .env("ACQUIT_HOME", at("acquit"))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    fn words(&self, variables: &[(&str, &str)]) -> String {
        String::from_utf8(self.agents(&[], variables).stdout).unwrap()
    }
}

#[test]
fn version_login_and_what_is_missing_are_told() {
    let machine = Machine::new();
    let bin = machine.0.path().join("bin");
    program(&bin, "claude", "echo '2.1.325 (Claude Code)'");
    program(&bin, "codex", "echo codex-cli 0.20.0");
    program(&bin, "pi", "exit 3");
    let words = machine.words(&[]);
    assert!(words.contains("2.1.325 (Claude Code)") && words.contains("sandbox  starts"), "{words}");
    assert!(
        words.contains("not logged in: run `claude /login`, or set ANTHROPIC_API_KEY and grant it"),
        "{words}"
    );
    assert!(words.contains("this version does not work: it cannot be kept from asking for ever"), "{words}");
    assert!(words.contains("does not start: exit 3"), "{words}");
    assert!(words.contains("not installed: gemini, opencode, cursor, aider"), "{words}");
    fs::create_dir(machine.0.path().join("home/.claude")).unwrap();
    fs::write(machine.0.path().join("home/.claude/.credentials.json"), "{}").unwrap();
    assert!(machine.words(&[]).contains("login    ~/.claude/.credentials.json"));
}

#[test]
fn a_key_and_settings_that_a_stage_does_not_get_come_with_the_lines_to_add() {
    let machine = Machine::new();
    program(&machine.0.path().join("bin"), "claude", "echo '2.1.325 (Claude Code)'");
    let settings = machine.0.path().join("home/.claude/settings.json");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"env":{"ANTHROPIC_BASE_URL":"https://llm.corp:8443/v1"}}"#).unwrap();
    let variables = [("ANTHROPIC_API_KEY", "sk-not-shown")];
    let words = machine.words(&variables);
    assert!(words.contains("$ANTHROPIC_API_KEY is set, but the agent does not get it"), "{words}");
    assert!(
        words
            .contains("~/.claude/settings.json is not shown in the sandbox; its settings name llm.corp:8443"),
        "{words}"
    );
    assert!(!words.contains("sk-not-shown"));

    // The lines that it prints, written into the configuration, leave nothing to add.
    let output = machine.agents(&["--json"], &variables);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let claude = value["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "claude").unwrap();
    let lines: Vec<&str> = claude["findings"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|finding| finding["add"].as_array().unwrap())
        .map(|line| line.as_str().unwrap())
        .collect();
    let mut tables: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        if line.starts_with('[') {
            tables.push((line, Vec::new()));
        } else {
            let last = tables.last().unwrap().0;
            let table = tables.iter_mut().find(|(name, _)| *name == last).unwrap();
            if !table.1.contains(&line) {
                table.1.push(line);
            }
        }
    }
    tables.retain(|(_, lines)| !lines.is_empty());
    let tables: Vec<String> =
        tables.iter().map(|(table, lines)| format!("{table}\n{}\n", lines.join("\n"))).collect();
    let config = tables.concat();
    let here = machine.0.path().join("empty");
    acquit_testkit::repo::git(&here, &["init", "--quiet"]);
    fs::create_dir(here.join(".acquit")).unwrap();
    fs::write(here.join(".acquit/acquit.toml"), &config).unwrap();
    let user = machine.0.path().join("home/.config/acquit/config.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(user, format!("trusted_paths = [\"{}\"]\n", here.display())).unwrap();
    let words = machine.words(&variables);
    assert!(
        words.starts_with("✓ claude") && words.contains("login    $ANTHROPIC_API_KEY"),
        "{config}\n{words}"
    );
}

#[test]
fn an_agent_that_lacks_something_in_the_sandbox_is_told() {
    let machine = Machine::new();
    let needs = machine.0.path().join("home/notes");
    fs::write(&needs, "").unwrap();
    let script = format!(
        "test -e '{}' || {{ echo no notes >&2; exit 4; }}\necho '2.1.325 (Claude Code)'",
        needs.display()
    );
    program(&machine.0.path().join("bin"), "claude", &script);
    let words = machine.words(&[]);
    assert!(
        words.starts_with("✗ claude    2.1.325 (Claude Code)")
            && words.contains("does not start: exit 4 (no notes)"),
        "{words}"
    );
}

#[test]
fn no_key_is_shown_and_the_json_can_be_read() {
    let machine = Machine::new();
    program(&machine.0.path().join("bin"), "gemini", "echo 0.61.0");
    let output = machine.agents(&["--json"], &[("GEMINI_API_KEY", "very-secret")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("very-secret"));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let gemini = value["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "gemini").unwrap();
    assert_eq!(gemini["version"], "0.61.0");
    assert_eq!((&gemini["login"], &gemini["starts_in_sandbox"]), (&"missing".into(), &true.into()));
    assert_eq!(gemini["findings"][0]["what"], "$GEMINI_API_KEY is set, but the agent does not get it");
    assert_eq!(gemini["supports"]["structured output"], false);
}

#[test]
fn a_machine_without_agents_ends_with_an_error_code() {
    let output = Machine::new().agents(&[], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no agent that acquit knows"));
}

/// What real agents answer is shown by the tests of the real agents.
#[test]
fn an_agent_that_is_asked_answers_or_says_why_not() {
    let machine = Machine::new();
    let bin = machine.0.path().join("bin");
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ready","session_id":"s","total_cost_usd":0.01,"usage":{"input_tokens":9,"output_tokens":1}}"#;
    program(
        &bin,
        "claude",
        &format!(
            "[ \"$1\" = --version ] && exec echo '2.1.325 (Claude Code)'\ncat > /dev/null\necho '{result}'"
        ),
    );
    let ran = machine.agents(&["--ask", "claude"], &[]);
    let words = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && words.contains("model    answers in "), "{words}");
    assert!(words.contains("$0.01") && !words.contains("gemini"), "only the one that was named: {words}");

    program(
        &bin,
        "claude",
        "[ \"$1\" = --version ] && exec echo '2.1.325 (Claude Code)'\necho 'it broke' >&2; exit 9",
    );
    let ran = machine.agents(&["--ask", "claude"], &[]);
    let words = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{words}");
    assert!(words.contains("no answer in ") && words.contains("it broke"), "{words}");

    let ran = machine.agents(&["--ask", "nobody"], &[]);
    let words = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{words}");
    assert!(words.contains("nobody") && words.contains("claude, codex"), "{words}");
}
