//! What must hold of all recordings together: success is never guessed, and nothing is counted twice.

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::config::Product;

use crate::recorded::{heard, hearing, of};

fn total(said: &[AgentEvent]) -> Usage {
    let mut total = Usage::default();
    for said in said {
        if let AgentEvent::Usage(usage) = said {
            total.add(usage);
        }
    }
    total
}

fn ended_well(said: &[AgentEvent]) -> bool {
    said.iter().rev().find_map(|said| if let AgentEvent::End { ok, .. } = said { Some(*ok) } else { None })
        == Some(true)
}

#[test]
fn only_a_run_that_went_well_ends_well() {
    /// Recordings of runs that failed or were cut off, by how their names begin.
    const FAILED: [&str; 22] = [
        "err",
        "no_key",
        "credit",
        "toolong",
        "toolthen500",
        "conn_refused",
        "refusal",
        "maxtok",
        "max_budget",
        "sse_error",
        "drop",
        "quota",
        "hang",
        "sig_INT",
        "sig_TERM",
        "bwrap",
        "crash_kill",
        "bad_model",
        "perm_ask",
        "json_schema_badloop",
        "made_subscription",
        "made_failed",
    ];
    for &product in Product::ALL {
        for (name, output) in of(product) {
            let failed = FAILED.iter().any(|front| name.starts_with(front))
                || matches!(
                    name.as_str(),
                    "session_resume_unknown" | "v2_1_197_sigint" | "apikey_sub_limit" | "made_limit_in_words"
                )
                || (product == Product::Codex && name == "sig_KILL_tool")
                || (product == Product::Gemini && name == "empty");
            // Gemini takes an answer that was cut for a whole one, and one of its tools was killed instead of itself.
            let failed = failed && !(product == Product::Gemini && name == "maxtok");
            let said = heard(product, hearing(Usage::default()), &output);
            assert_eq!(ended_well(&said), !failed, "{} {name}", product.name());
        }
    }
}

#[test]
fn usage_is_counted_once() {
    for product in [Product::Claude, Product::Opencode, Product::Pi, Product::Codex, Product::Gemini] {
        for (name, output) in of(product) {
            let total = total(&heard(product, hearing(Usage::default()), &output));
            // Every call of the scripted model had 1000 tokens of input and 200 from a cache, and 50 of output or 1 if cut.
            if name.starts_with("made_") {
                continue;
            }
            let calls = total.input / 1_000;
            assert_eq!((total.input, total.cache_read), (calls * 1_000, calls * 200), "{product:?} {name}");
            assert!(total.output <= calls * 50, "{product:?} {name}: {total:?}");
        }
    }
}

#[test]
fn a_continued_conversation_adds_only_what_is_new() {
    let (_, first) = of(Product::Claude).into_iter().find(|(name, _)| name == "session_new").unwrap();
    let (_, second) = of(Product::Claude).into_iter().find(|(name, _)| name == "session_resume").unwrap();
    let first = total(&heard(Product::Claude, hearing(Usage::default()), &first));
    let second = total(&heard(Product::Claude, hearing(first.clone()), &second));
    assert_eq!((first.cost_micros, second.cost_micros), (Some(8_370), Some(8_370)));
    assert_eq!((second.input, second.output), (2_000, 100));
}

#[test]
fn an_older_program_without_usage_by_run_gives_the_difference() {
    let line = br#"{"type":"result","subtype":"success","is_error":false,"result":"x","total_cost_usd":0.05,"usage":{"input_tokens":7,"output_tokens":3}}"#;
    let before = Usage { input: 100, cost_micros: Some(20_000), ..Usage::default() };
    let total = total(&heard(Product::Claude, hearing(before), line));
    assert_eq!((total.input, total.output, total.cost_micros), (7, 3, Some(30_000)));
}

#[test]
fn a_line_longer_than_the_limit_is_still_heard() {
    let filler = "x\\n".repeat(600_000);
    let cut = |text: String| text.into_bytes()[..1024 * 1024].to_vec();
    let used = cut(format!(
        r#"{{"type":"assistant","message":{{"id":"m","model":"c","content":[{{"type":"tool_use","name":"Write","input":{{"content":"{filler}"}}}}]}}}}"#
    ));
    let said = heard(Product::Claude, hearing(Usage::default()), &used);
    assert!(matches!(said.as_slice(), [AgentEvent::ToolUse { name, .. }] if name == "Write"), "{said:?}");
    let ran = cut(format!(
        r#"{{"type":"item.completed","item":{{"id":"1","type":"command_execution","command":"x","status":"completed","aggregated_output":"{filler}"}}}}"#
    ));
    let said = heard(Product::Codex, hearing(Usage::default()), &ran);
    assert!(
        matches!(said.as_slice(), [AgentEvent::ToolUse { .. }, AgentEvent::ToolResult { ok: true, .. }]),
        "{said:?}"
    );
    let noise = cut("y".repeat(2_000_000));
    let said = heard(Product::Codex, hearing(Usage::default()), &noise);
    assert_eq!(said, [AgentEvent::Unknown { kind: "a line that is too long".to_owned() }]);
}

#[test]
fn half_a_result_is_no_success() {
    let whole = br#"{"is_error":false,"subtype":"success","type":"result","result":"done"}"#;
    for end in 0..whole.len() {
        let said = heard(Product::Claude, hearing(Usage::default()), &whole[..end]);
        assert!(!ended_well(&said), "{end}");
    }
}

#[test]
fn a_report_in_the_last_message_is_heard_where_it_was_asked_for() {
    let output =
        br#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"{\"outcome\":\"ok\"}"}}
{"type":"turn.completed","usage":{"input_tokens":1}}"#;
    let structured = acquit_run::agent::Hearing { structured: true, ..hearing(Usage::default()) };
    let report = |said: &[AgentEvent]| said.iter().any(|said| matches!(said, AgentEvent::Report { .. }));
    assert!(report(&heard(Product::Codex, structured, output)));
    assert!(!report(&heard(Product::Codex, hearing(Usage::default()), output)));
}

#[test]
fn what_an_agent_tries_again_itself_is_not_the_end() {
    for &product in Product::ALL {
        for (name, output) in of(product) {
            let said = heard(product, hearing(Usage::default()), &output);
            let ends = said.iter().filter(|said| {
                matches!(said, AgentEvent::Fault { again: false, .. } | AgentEvent::Limit { .. })
            });
            assert!(ends.count() <= 1, "{} {name}", product.name());
            if ended_well(&said) {
                let fatal = said.iter().any(
                    |said| matches!(said, AgentEvent::Fault { fault, again: false, .. } if *fault != Fault::Other),
                );
                assert!(!fatal, "{} {name}", product.name());
            }
        }
    }
}
