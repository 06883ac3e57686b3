//! What is left of a judgement: a statement that can be checked, jobs for CI, and the answers to hooks.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::Sandbox;
use crate::kit::{BROKEN, HONEST, MENDED, package, ran};

#[test]
fn a_statement_fits_the_repository_it_was_made_in_and_nothing_else() {
    let sandbox = package();
    let repo = &sandbox.repo;
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("sum.js", MENDED);
    repo.write("test/new.test.js", HONEST);
    repo.commit("mend");
    let file = sandbox.place("proof.json");
    let name = file.to_string_lossy().into_owned();
    ran(&sandbox, &["--attest", &name], 0);
    let statement: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:acquit:prove:v1");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], head.trim());
    let verified = sandbox.acquit(&["verify", &name, "--json"]).must(0).json();
    assert_eq!(verified["holds"], true, "{verified:#}");
    let logs = verified["checked"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["what"].as_str().unwrap().starts_with("log "));
    assert!(logs.count() >= 2, "{verified:#}");

    // Each of these is a forgery.
    let text = fs::read_to_string(&file).unwrap();
    let tree = statement["predicate"]["report"]["change"]["tree"].as_str().unwrap();
    for (what, forged) in [
        ("another tree", text.replace(tree, &"0".repeat(tree.len()))),
        ("another commit", text.replace(head.trim(), &"1".repeat(40))),
        (
            "a judgement that does not follow",
            text.replace("\"decision\": \"acquitted\"", "\"decision\": \"guilty\""),
        ),
    ] {
        assert_ne!(forged, text, "{what}");
        fs::write(&file, forged).unwrap();
        let verified = sandbox.acquit(&["verify", &name]);
        assert_eq!(verified.code, Some(1), "{what}: {verified}");
    }
    fs::write(&file, &text).unwrap();
    let folder = sandbox.place("proof.json.logs");
    let log = fs::read_dir(&folder).unwrap().flatten().next().unwrap().path();
    fs::write(&log, "nothing failed\n").unwrap();
    sandbox.acquit(&["verify", &name]).must(1).said("it was changed since");
    fs::write(&file, "{}").unwrap();
    sandbox.acquit(&["verify", &name]).must(2);
}

/// The answer to the hook of an agent.
fn hook(sandbox: &Sandbox, agent: &str, message: &Value) -> Value {
    answer(sandbox.command(&["prove", "--hook", agent]), message.to_string().as_bytes())
}

/// The answer of a hook's command: one JSON document on stdout, and exit code 0.
fn answer(mut command: Command, message: &[u8]) -> Value {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(message).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_agent_is_sent_back_a_bounded_number_of_times() {
    let sandbox = package();
    // A turn that changed nothing costs nothing.
    assert_eq!(hook(&sandbox, "claude", &json!({ "session_id": "a" })), json!({}));
    sandbox.repo.write("sum.js", BROKEN);
    let mut sent = 0;
    for number in 0..6 {
        let answer = hook(&sandbox, "claude", &json!({ "session_id": "a", "stop_hook_active": number > 0 }));
        if answer["decision"] == "block" {
            sent += 1;
            let reason = answer["reason"].as_str().unwrap();
            assert!(
                reason.contains("no test fails that passed before") && reason.contains("two"),
                "{reason}"
            );
        } else {
            assert!(answer["systemMessage"].as_str().unwrap().contains("still guilty"), "{answer}");
        }
    }
    assert_eq!(sent, 3);
    sandbox.repo.write("sum.js", MENDED);
    let answer = hook(&sandbox, "claude", &json!({ "session_id": "a", "stop_hook_active": true }));
    assert!(answer["systemMessage"].as_str().unwrap().contains("acquitted"), "{answer}");
    // What is wrong with the project is told, and sends nobody back.
    sandbox.repo.write(".acquit/acquit.toml", "[gates.test]\nrun = 7\n");
    let answer = hook(&sandbox, "gemini", &json!({}));
    assert!(answer["systemMessage"].as_str().unwrap().contains("could not judge"), "{answer}");
}

/// By Cursor's documentation of hooks: `.cursor/hooks.json` has `version` 1 and commands by event; a command runs in the project's
/// root and gets the event as JSON; `stop` has `status` (completed, aborted, error) and `loop_count`, and may answer with
/// `followup_message`, which Cursor submits as the next message, at most `loop_limit` times.
#[test]
fn cursor_is_sent_back_by_its_documented_protocol() {
    let sandbox = package();
    sandbox.acquit(&["init", "--hooks", "cursor"]).must(0);
    let file = fs::read_to_string(sandbox.repo.path().join(".cursor/hooks.json")).unwrap();
    let settings: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(settings["version"], 1, "{settings}");
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.keys().collect::<Vec<_>>(), ["stop"], "{settings}");
    let [hook] = &hooks["stop"].as_array().unwrap()[..] else { panic!("{settings}") };
    assert!(hook["loop_limit"].as_u64().is_some() && hook["timeout"].as_u64().is_some(), "{settings}");
    sandbox.repo.commit("the hook");
    sandbox.repo.write("sum.js", BROKEN);

    // As Cursor runs it: by a shell, in the root of the project.
    let run = |status: &str, loops: u64| {
        let mut command = sandbox.program("sh");
        let bin = crate::common::binary().parent().unwrap().to_owned();
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        command.args(["-c", hook["command"].as_str().unwrap()]).current_dir(sandbox.repo.path());
        let message = json!({
            "conversation_id": "668320d2-2fd8-4888-b33c-2a466fec86e7", "generation_id": "490b90b7-a2ce-4c2c",
            "model": "some-model", "hook_event_name": "stop", "cursor_version": "3.7.21",
            "workspace_roots": [sandbox.repo.path()], "user_email": null, "transcript_path": null,
            "status": status, "loop_count": loops,
        });
        // On some systems a byte order mark comes first.
        answer(command, format!("\u{feff}{message}").as_bytes())
    };
    // Who was stopped by a person does not claim to be done.
    assert_eq!(run("aborted", 0), json!({}));
    assert_eq!(run("error", 0), json!({}));
    for loops in 0..3 {
        let answer = run("completed", loops);
        assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
        assert!(answer["followup_message"].as_str().unwrap().contains("two"), "{answer}");
    }
    assert_eq!(run("completed", 3), json!({}), "it may end after three times");
    sandbox.repo.write("sum.js", MENDED);
    assert_eq!(run("completed", 1), json!({}));
}

#[test]
fn hooks_are_written_for_the_agents_that_are_named() {
    let sandbox = package();
    sandbox.repo.write(".claude/settings.json", "{\"model\": \"opus\"}\n");
    sandbox.acquit(&["init", "--hooks", "claude,codex,gemini,opencode,cursor"]).must(0);
    let read = |file: &str| fs::read_to_string(sandbox.repo.path().join(file)).unwrap();
    assert!(read(".claude/settings.json").contains("\"opus\""));
    for file in [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".cursor/hooks.json"]
    {
        assert!(read(file).contains("acquit prove --hook"), "{file}");
    }
    assert!(read(".opencode/plugins/acquit.js").contains("session.idle"));
    assert!(!sandbox.repo.path().join(".acquit").exists());
}
