//! What a task costs is what its records say: over legs that end, are killed, and continue a conversation, whatever the program's
//! totals are of.

use acquit_core::agent::Usage;
use acquit_core::config::Product;
use acquit_run::turn_summary::TurnSummary;
use proptest::prelude::*;
use serde_json::json;

use crate::recorded::{heard, hearing, of};

/// What a leg used, as the harness counts it.
fn leg(product: Product, before: &Usage, output: &[u8]) -> Usage {
    let mut all = TurnSummary::default();
    heard(product, hearing(before.clone()), output).iter().for_each(|said| all.heed(said));
    all.usage
}

/// The first lines of an output.
fn cut(output: &[u8], lines: usize) -> Vec<u8> {
    output.split_inclusive(|byte| *byte == b'\n').take(lines).flatten().copied().collect()
}

#[test]
fn a_leg_that_is_killed_at_any_line_has_cost_what_it_told_so_far() {
    for &product in Product::ALL {
        for (name, output) in of(product) {
            let lines = output.split(|byte| *byte == b'\n').count();
            let mut last = 0;
            for count in 0..=lines {
                let usage = leg(product, &Usage::default(), &cut(&output, count));
                let paid = usage.paid().unwrap_or(0);
                assert!(
                    paid >= last || usage.estimated() == 0,
                    "{product:?} {name}: {last} then {paid} at {count}"
                );
                let priced = usage.list_micros.is_some() || usage.cost_micros.is_some();
                assert!(
                    paid > 0 || !priced || usage.tokens() == 0,
                    "{product:?} {name} at {count}: {usage:?}"
                );
                last = paid;
            }
        }
    }
}

#[test]
fn a_cost_that_was_told_is_the_cost() {
    for (name, output) in of(Product::Claude) {
        let told = |line: &[u8]| {
            let record: serde_json::Value = serde_json::from_slice(line).ok()?;
            (record["type"] == "result").then(|| record["total_cost_usd"].as_f64()).flatten()
        };
        let whole = output.ends_with(b"\n");
        let last = output.split(|byte| *byte == b'\n').filter_map(told).next_back();
        // Of a conversation that began elsewhere the total is more than this run's.
        if let (Some(dollars), true, false) = (last, whole, name.contains("resume")) {
            let usage = leg(Product::Claude, &Usage::default(), &output);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some cents")]
            let micros = (dollars * 1e6).round() as u64;
            assert_eq!(usage.paid().unwrap_or(0), micros, "{name}: {usage:?}");
        }
    }
}

/// What one call costs: 1000 tokens in, 200 from a cache, 100 to one, 50 out; and if it is cut, of which 1 was out.
const CALL: u64 = 4_185;
const CUT_CALL: u64 = 3_450;

/// What a program's totals are of, and whether it also tells what is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Totals {
    SinceLastResult,
    OfConversation,
    OfProcess,
}

/// A leg of Claude: so many calls, and whether it is killed after them.
#[derive(Clone, Copy, Debug)]
struct Run {
    calls: u64,
    killed: bool,
}

fn used(calls: u64, output: u64) -> serde_json::Value {
    json!({ "input_tokens": calls * 1000, "output_tokens": output, "cache_read_input_tokens": calls * 200,
        "cache_creation_input_tokens": calls * 100 })
}

fn by_model(calls: u64) -> serde_json::Value {
    #[expect(clippy::cast_precision_loss, reason = "some cents")]
    let cost = (calls * CALL) as f64 / 1e6;
    json!({ "claude-sonnet-4-5": { "inputTokens": calls * 1000, "outputTokens": calls * 50,
        "cacheReadInputTokens": calls * 200, "cacheCreationInputTokens": calls * 100, "costUSD": cost } })
}

/// What the program prints. `earlier` are the calls of the conversation that its totals know.
fn output(run: Run, number: usize, earlier: u64, totals: Totals) -> String {
    let mut lines =
        vec![json!({ "type": "system", "subtype": "init", "session_id": "s", "apiKeySource": "env" })];
    for call in 0..run.calls {
        lines.push(json!({ "type": "assistant", "message": { "id": format!("{number}-{call}"),
            "model": "claude-sonnet-4-5", "content": [], "usage": used(1, 1) } }));
    }
    if !run.killed {
        let all = if totals == Totals::OfProcess { run.calls } else { earlier + run.calls };
        #[expect(clippy::cast_precision_loss, reason = "some cents")]
        let cost = (all * CALL) as f64 / 1e6;
        let mut result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "x",
            "session_id": "s", "total_cost_usd": cost, "usage": used(run.calls, run.calls * 50),
            "modelUsage": by_model(all) });
        if totals == Totals::SinceLastResult {
            result["model_usage_since_last_result"] = by_model(run.calls);
        }
        lines.push(result);
    }
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

proptest! {
    #[test]
    fn a_task_costs_what_its_legs_cost(
        runs in proptest::collection::vec((1_u64..6, any::<bool>()), 1..8),
        totals in prop_oneof![Just(Totals::SinceLastResult), Just(Totals::OfConversation), Just(Totals::OfProcess)],
    ) {
        let mut session = Usage::default();
        let mut task = Usage::default();
        let (mut expected, mut known) = (0, 0);
        for (number, (calls, killed)) in runs.into_iter().enumerate() {
            let run = Run { calls, killed };
            let usage = leg(Product::Claude, &session, output(run, number, known, totals).as_bytes());
            let cost = if killed { calls * CUT_CALL } else { calls * CALL };
            prop_assert_eq!(usage.paid(), Some(cost), "leg {} of {:?}: {:?}", number, totals, usage);
            expected += cost;
            if !killed {
                known += calls;
            }
            session.add(&usage);
            task.add(&usage);
            prop_assert_eq!(task.paid(), Some(expected));
        }
    }
}

#[test]
fn records_of_before_count_once() {
    let old: Usage =
        serde_json::from_value(json!({ "input": 5, "cost_micros": 100, "list_micros": 110 })).unwrap();
    let killed: Usage = serde_json::from_value(json!({ "input": 5, "list_micros": 40 })).unwrap();
    assert_eq!((old.paid(), killed.paid()), (Some(100), Some(40)));
    let mut sum = old;
    sum.add(&killed);
    assert_eq!((sum.paid(), sum.estimated()), (Some(140), 40));
}
