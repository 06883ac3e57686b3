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
    assert!(words.contains("2.1.325 (Claude Code)"), "{words}");
    assert!(words.contains("none found: `claude /login`, or set ANTHROPIC_API_KEY"), "{words}");
    assert!(words.contains("this version does not work: it cannot be kept from asking for ever"), "{words}");
    assert!(words.contains("it does not tell its version: "), "{words}");
    assert!(words.contains("not here: gemini, opencode, cursor, aider"), "{words}");
    assert!(
        machine.words(&[("ANTHROPIC_API_KEY", "sk-not-shown")]).contains("login  $ANTHROPIC_API_KEY is set")
    );
    fs::create_dir(machine.0.path().join("home/.claude")).unwrap();
    fs::write(machine.0.path().join("home/.claude/.credentials.json"), "{}").unwrap();
    assert!(machine.words(&[]).contains("login  ~/.claude/.credentials.json"));
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
    assert_eq!(gemini["login"]["variable"], "GEMINI_API_KEY");
    assert_eq!(gemini["supports"]["structured output"], false);
}

#[test]
fn a_machine_without_agents_ends_with_an_error_code() {
    let output = Machine::new().agents(&[], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no agent that acquit knows"));
}
