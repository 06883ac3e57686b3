//! Traces: spans of tasks, legs, steps and gates, as an OpenTelemetry collector gets them.

use std::collections::BTreeMap;

use acquit_testkit::receiver::Receiver;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Sandbox, until};

const FLOW: &str = r#"
[stages.code]
mode = "implement"
gates = ["lines"]
on = { pr_ready = "done" }
[gates.lines]
run = "echo the gate speaks; test -f work.txt"
"#;

#[test]
fn a_collector_gets_spans_of_tasks_legs_steps_and_gates_and_nothing_that_anybody_said() {
    // The first batch is refused, and sent again.
    let collector = Receiver::start(|_, before| (if before == 0 { 503 } else { 200 }, "{}".to_owned()));
    let sandbox = Sandbox::shell(FLOW, "echo the agent speaks; echo work > work.txt\n")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.clone())
        .with("OTEL_EXPORTER_OTLP_HEADERS", "x-token=0123456789");
    let daemon = sandbox.start(&["serve", "--no-web"]);
    let store = || rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).ok();
    until("the exporter knows where it begins", || {
        let count = "select count(*) from marks where name = 'traces'";
        (store()?.query_row(count, [], |row| row.get(0)) == Ok(1)).then_some(())
    });
    sandbox.acquit(&["task", "add", "A title in confidence"]).must(0);
    let spans = || -> Vec<Value> {
        let taken = collector.received().into_iter().skip(1);
        let of = |body: Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned();
        taken.filter_map(|request| of(request.json())).flatten().collect()
    };
    let all = until("the task's span arrives", || {
        let all = spans();
        all.iter().any(|span| span["name"] == "task").then_some(all)
    });
    for request in collector.received() {
        assert_eq!((request.path.as_str(), request.header("x-token")), ("/v1/traces", "0123456789"));
        for words in ["speaks", "confidence", "0123456789"] {
            assert!(!request.body.contains(words), "{words}: {}", request.body);
        }
    }
    let by_id: BTreeMap<&str, &Value> =
        all.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    let time = |span: &Value, which: &str| span[which].as_str().unwrap().parse::<u64>().unwrap();
    let mut names = Vec::new();
    for span in by_id.values() {
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["traceId"], all[0]["traceId"], "one task, one trace");
        names.push(span["name"].as_str().unwrap());
        assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"), "{span}");
        let Some(parent) = by_id.get(span["parentSpanId"].as_str().unwrap()) else {
            assert_eq!(span["name"], "task");
            continue;
        };
        assert!(time(parent, "startTimeUnixNano") <= time(span, "startTimeUnixNano"), "{span} in {parent}");
        assert!(time(span, "endTimeUnixNano") <= time(parent, "endTimeUnixNano"), "{span} in {parent}");
    }
    for name in ["task", "code", "agent", "gate lines"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let leg = all.iter().find(|span| span["name"] == "code").unwrap();
    let attributes = leg["attributes"].as_array().unwrap();
    let stage = attributes.iter().find(|one| one["key"] == "acquit.stage").unwrap();
    assert_eq!((&stage["value"]["stringValue"], &leg["status"]["code"]), (&"code".into(), &1.into()));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}
