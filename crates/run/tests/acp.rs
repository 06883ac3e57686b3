//! Conversations with agents that speak the Agent Client Protocol: recordings of real ones played to the client, and whatever a hostile
//! one could say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "how long nonsense is talked stands in the environment")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acquit_core::agent::{AgentEvent, Fault};
use acquit_core::time::Timestamp;
use acquit_run::acp::conversation::{Out, Over, State, Talk};
use acquit_run::acp::{Settings, Stage};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::{Value, json};

fn settings(stage: Stage) -> Settings {
    Settings {
        stage,
        session: None,
        cost_before: 0,
        tools: Some(vec!["/bin/acquit".to_owned(), "mcp".to_owned(), "/leg/tools.json".to_owned()]),
        allowed: None,
    }
}

fn talk(settings: Settings) -> Talk {
    Talk::new(settings, "do it".to_owned(), "/repo".to_owned(), PathBuf::from("/out"), || Timestamp(0))
}

fn recording(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/acp").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Plays the agent's part of a recording, whose answers find the requests of the same name. Tells what came of it, in lines.
fn play(name: &str, settings: Settings) -> String {
    let recorded = recording(name);
    let mut asked = BTreeMap::new();
    let mut ours: BTreeMap<String, Value> = BTreeMap::new();
    let mut talk = talk(settings);
    let mut shown = String::new();
    let mut out = Out::default();
    talk.begin(&mut out);
    take(&mut talk, &mut out, &mut ours, &mut shown);
    for entry in &recorded {
        let mut message = entry["msg"].clone();
        let method = message["method"].as_str().map(str::to_owned);
        if entry["dir"] == "c2a" {
            asked.extend(method.map(|method| (message["id"].to_string(), method)));
            continue;
        }
        if method.is_none() {
            // A recorded answer to something that this client asks by another number.
            let method = &asked[&message["id"].to_string()];
            message["id"] = ours.get(method).cloned().unwrap_or(json!("nobody asked"));
        }
        talk.line(message.to_string().as_bytes(), &mut out);
        take(&mut talk, &mut out, &mut ours, &mut shown);
    }
    writeln!(shown, "= {:?}", talk.state()).unwrap();
    shown
}

/// Writes down what came out, and answers what the recording has no answer for.
fn take(talk: &mut Talk, out: &mut Out, ours: &mut BTreeMap<String, Value>, shown: &mut String) {
    let Out { messages, said } = std::mem::take(out);
    for said in said {
        writeln!(shown, "< {}", serde_json::to_string(&said).unwrap()).unwrap();
    }
    for message in messages {
        writeln!(shown, "> {message}").unwrap();
        let Some(method) = message["method"].as_str() else { continue };
        ours.insert(method.to_owned(), message["id"].clone());
        if method == "session/set_mode" {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} });
            talk.line(answer.to_string().as_bytes(), out);
            return take(talk, out, ours, shown);
        }
    }
}

#[test]
fn what_real_agents_said_is_understood() {
    for (agent, cases) in [
        (
            "claude",
            &["ok_two", "mcp", "perm_reject", "cancel_tool", "err401", "err429", "err500", "drop"][..],
        ),
        ("codex", &["ok_two", "err401", "err500"]),
        ("gemini", &["ok_nofs", "err401", "maxtok", "cancel_tool", "perm_reject"]),
        ("opencode", &["ok_two", "err401", "perm_reject"]),
    ] {
        let told = cases.iter().map(|case| {
            format!("## {case}\n{}", play(&format!("{agent}-{case}.jsonl"), settings(Stage::Writes)))
        });
        insta::assert_snapshot!(format!("acp_{agent}"), told.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn a_conversation_goes_on_and_its_past_is_neither_told_nor_paid_again() {
    let session = "f9275d86-a23c-4bf4-8023-2b28eeb8ba5b".to_owned();
    let settings = Settings { session: Some(session), cost_before: 38_780, ..settings(Stage::Writes) };
    insta::assert_snapshot!("acp_load", play("claude-session_load.jsonl", settings));
}

#[test]
fn a_stage_that_changes_nothing_refuses_edits() {
    for name in ["claude-ok_two.jsonl", "gemini-ok_nofs.jsonl"] {
        let told = play(name, settings(Stage::Looks));
        let denied = told.lines().filter(|line| line.contains("\"denied\"")).count();
        let allowed = told.lines().filter(|line| line.contains("once\",\"outcome\"")).count();
        assert_eq!((denied, allowed), (1, 1), "the command may run, the edit may not: {told}");
    }
}

/// A conversation up to its prompt.
fn prompted() -> (Talk, Out) {
    let mut talk = talk(settings(Stage::Writes));
    let mut out = Out::default();
    talk.begin(&mut out);
    talk.line(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#, &mut out);
    talk.line(br#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#, &mut out);
    assert_eq!(talk.state(), State::Prompting);
    (talk, Out::default())
}

#[test]
fn an_agent_that_cannot_be_talked_with_is_left_with_a_reason() {
    for (lines, reason) in [
        (&[r#"{"id":1,"result":{"protocolVersion":2}}"#][..], "another version"),
        (&[r#"{"id":1,"result":null}"#], "another version"),
        (&[r#"{"id":1,"error":{"code":-32603,"message":"broken"}}"#], "broken"),
        (&[r#"{"id":1,"result":{"protocolVersion":1}}"#, r#"{"id":2,"result":{}}"#], "without an id"),
        (
            &[
                r#"{"id":1,"result":{"protocolVersion":1}}"#,
                r#"{"id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
            ],
            "Authentication required",
        ),
    ] {
        let mut talk = talk(settings(Stage::Writes));
        let mut out = Out::default();
        talk.begin(&mut out);
        lines.iter().for_each(|line| talk.line(line.as_bytes(), &mut out));
        assert_eq!(talk.state(), State::Over(Over::Badly));
        let Some(AgentEvent::End { ok: false, text }) = out.said.last() else { panic!("{:?}", out.said) };
        assert!(text.contains(reason), "{text}");
        assert!(
            !out.said.iter().any(|said| matches!(said, AgentEvent::Session { .. })),
            "nothing to continue"
        );
    }
    // A conversation that should go on, with an agent that cannot.
    let mut talk = talk(Settings { session: Some("s".to_owned()), ..settings(Stage::Writes) });
    let mut out = Out::default();
    talk.begin(&mut out);
    talk.line(br#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#, &mut out);
    assert_eq!(talk.state(), State::Over(Over::Badly));
}

#[test]
fn ends_that_are_none_are_told_apart() {
    for (result, expected) in [
        (json!({ "stopReason": "end_turn" }), None),
        (json!({ "stopReason": "max_tokens" }), Some(Fault::Other)),
        (json!({ "stopReason": "max_turn_requests" }), Some(Fault::Turns)),
        (json!({ "stopReason": "refusal" }), Some(Fault::Refused)),
        (json!({ "stopReason": "surprise" }), Some(Fault::Other)),
        (json!({ "stopReason": "end_turn", "usage": null }), Some(Fault::Server)),
        (json!(null), Some(Fault::Other)),
    ] {
        let (mut talk, mut out) = prompted();
        talk.line(json!({ "id": 3, "result": result }).to_string().as_bytes(), &mut out);
        let fault = out.said.iter().find_map(|said| match said {
            AgentEvent::Fault { fault, .. } => Some(*fault),
            _ => None,
        });
        assert_eq!(fault, expected, "{result}");
        let over = if expected.is_none() { Over::Well } else { Over::Badly };
        assert_eq!(talk.state(), State::Over(over), "{result}");
    }
}

#[test]
fn what_the_agent_wants_of_a_client_that_offers_nothing_is_refused() {
    let (mut talk, mut out) = prompted();
    talk.line(br#"{"id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}"#, &mut out);
    talk.line(br#"{"id":7,"method":"terminal/create"}"#, &mut out);
    let codes: Vec<&Value> = out.messages.iter().map(|message| &message["error"]["code"]).collect();
    assert_eq!(codes, [&json!(-32601), &json!(-32601)]);
    talk.line(br#"{"method":"session/new_kind"}"#, &mut out);
    talk.line(br#"{"method":"session/update","params":{"update":{"sessionUpdate":"hologram"}}}"#, &mut out);
    talk.line(b"plain words", &mut out);
    let shown: Vec<String> = out.said.iter().map(|said| serde_json::to_string(said).unwrap()).collect();
    assert_eq!(
        shown,
        [
            r#"{"type":"unknown","kind":"session/new_kind"}"#,
            r#"{"type":"unknown","kind":"hologram"}"#,
            r#"{"type":"raw","text":"plain words"}"#
        ]
    );
}

/// A recorded message of an agent, with something in it replaced by something else.
fn mutated() -> impl Strategy<Value = String> {
    let mut lines = Vec::new();
    for name in
        ["claude-mcp.jsonl", "codex-err500.jsonl", "gemini-perm_reject.jsonl", "opencode-ok_two.jsonl"]
    {
        let agent = recording(name).into_iter().filter(|entry| entry["dir"] == "a2c");
        lines.extend(agent.map(|entry| entry["msg"].to_string()));
    }
    let junk = prop_oneof![
        Just("null".to_owned()),
        Just("{}".to_owned()),
        Just("[[]]".to_owned()),
        Just("-1".to_owned()),
        Just("1e308".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("\"\\u0000\\ud83e\\udd80\"".to_owned()),
    ];
    (prop::sample::select(lines), any::<prop::sample::Index>(), junk).prop_map(|(line, at, junk)| {
        let places: Vec<usize> = line.match_indices(':').map(|(at, _)| at).collect();
        let Some(at) = (!places.is_empty()).then(|| places[at.index(places.len())]) else { return line };
        let (head, rest) = line.split_at(at + 1);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(_)) => format!("{head}{junk}{}", &rest[values.byte_offset()..]),
            _ => line.clone(),
        }
    })
}

/// Runs for a second, or for as long as `ACQUIT_FUZZ_SECONDS` says in `cargo xtask test`.
#[test]
fn whatever_an_agent_says_the_client_lives() {
    let seconds = std::env::var("ACQUIT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(seconds);
    let line = prop_oneof![mutated(), ".*", "[\\[\\]{}\":,a-z0-9]{0,40}"];
    let lines = (prop::collection::vec(line, 0..30), any::<bool>());
    while Instant::now() < until {
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })
            .run(&lines, |(lines, loads)| lives(&lines, loads))
            .unwrap();
    }
}

/// A talk with an agent that says these lines comes to its end, whatever they are.
fn lives(lines: &[String], loads: bool) -> Result<(), TestCaseError> {
    let session = loads.then(|| "s".to_owned());
    let mut talk = talk(Settings { session, ..settings(Stage::Looks) });
    let mut out = Out::default();
    talk.begin(&mut out);
    for line in lines {
        talk.line(line.as_bytes(), &mut out);
    }
    talk.cancel(&mut out);
    talk.give_up(Fault::Other, "gone", &mut out);
    prop_assert!(matches!(talk.state(), State::Over(_)));
    for said in &out.said {
        prop_assert!(serde_json::to_string(said).is_ok_and(|line| !line.contains('\n')));
    }
    Ok(())
}
