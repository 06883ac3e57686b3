//! Sends traces to an OpenTelemetry collector, over HTTP in JSON: a trace for each task, with a span for each leg, and in it
//! spans for its steps and gates.
//!
//! They are built from stored events when a leg has ended, so no harness knows of them. They have names, times, states and
//! costs, but no words of agents, gates or people. A batch that the collector did not take is sent again; spans have the
//! same ids then.

use acquit_core::change::Change;
use acquit_core::event::{Body, Event};
use acquit_core::ids::{StoreId, TaskId};
use acquit_core::leg::{Leg, State};
use acquit_core::store::{Mark, Store, each_event};
use acquit_core::time::{Span, Timestamp};
use acquit_run::notify;
use acquit_run::runtime::Environment;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::log;
use crate::app::App;
use crate::error::Error;

/// Variable with the address of the collector, to which `/v1/traces` is added.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Variable with headers for it, such as a token: `name=value,…`.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Name in the store of the position up to which events were read for traces.
const MARK: Mark<'static> = Mark { project: "", name: "traces" };
/// Number of events to read at once.
const PAGE: u32 = 500;

/// Returns whether somebody wants traces.
pub(super) fn is_wanted(app: &App) -> bool {
    endpoint(&app.surroundings.environment).is_some()
}

fn endpoint(environment: &Environment) -> Option<String> {
    let base = environment.get(ENDPOINT)?.to_str()?.trim_end_matches('/').to_owned();
    (base.starts_with("https://") || base.starts_with("http://")).then(|| format!("{base}/v1/traces"))
}

/// Returns whether nobody on the way can read what is sent to an address.
fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return true };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Sends the legs that ended since the last call.
pub(super) fn export(app: &App, store: &mut dyn Store) -> Result<(), Error> {
    let environment = &app.surroundings.environment;
    let Some(url) = endpoint(environment) else { return Ok(()) };
    let text = environment.get(HEADERS).and_then(|text| text.to_str()).unwrap_or_default();
    let headers: Vec<(&str, &str)> = text.split(',').filter_map(|one| one.trim().split_once('=')).collect();
    if !headers.is_empty() && !is_private(&url) {
        log(app, "traces", "not sent: headers may hold a token, and go over plain HTTP only to this machine");
        return Ok(());
    }
    let Some(mut after) = store.mark(MARK)? else {
        // What happened before anybody wanted traces is not sent.
        let newest = crate::index::newest_event(store, 0)?;
        return Ok(store.post(&[], Some((MARK, newest)))?);
    };
    let id = store.id()?;
    loop {
        let events = store.events(None, after, PAGE)?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.seq;
        let mut spans = Vec::new();
        for event in &events {
            match &event.body {
                Body::Change { change: Change::LegEnded { leg, .. } } => {
                    spans.extend(of_leg(store, &id, event.task, *leg)?);
                }
                Body::Change { change: Change::Ended { .. } } => spans.push(of_task(store, &id, event)?),
                _ => {}
            }
        }
        if !spans.is_empty()
            && let Err(error) = notify::send_json(&url, &headers, &batch(&id, &spans).to_string())
        {
            log(app, "traces", &format!("not sent: {error}"));
            return Ok(());
        }
        store.post(&[], Some((MARK, after)))?;
        if events.len() < PAGE as usize {
            return Ok(());
        }
    }
}

fn batch(store: &StoreId, spans: &[Value]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let about = [
        text("service.name", "acquit"),
        text("service.version", version),
        text("acquit.store", &store.to_string()),
    ];
    json!({ "resourceSpans": [{
        "resource": { "attributes": about },
        "scopeSpans": [{ "scope": { "name": "acquit", "version": version }, "spans": spans }],
    }] })
}

/// The ids of a task's trace: they follow from the store and the task, so a span that is sent twice is the same.
struct Trace<'s> {
    store: &'s StoreId,
    task: TaskId,
}

impl Trace<'_> {
    fn id(&self, part: &str, bytes: usize) -> String {
        let hash = Sha256::digest(format!("{}/{}/{part}", self.store, self.task));
        hash.iter().take(bytes).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    fn span(&self, part: &str, parent: Option<&str>, name: &str, times: (Timestamp, Timestamp)) -> Value {
        let nanos = |time: Timestamp| (i128::from(time.0) * 1_000_000).to_string();
        json!({
            "traceId": self.id("trace", 16),
            "spanId": self.id(part, 8),
            "parentSpanId": parent.map(|parent| self.id(parent, 8)).unwrap_or_default(),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": nanos(times.0),
            "endTimeUnixNano": nanos(times.1.max(times.0)),
        })
    }
}

/// The span of a task is the root of its trace.
const ROOT: &str = "task";

fn of_task(store: &mut dyn Store, id: &StoreId, event: &Event) -> Result<Value, Error> {
    let task = store.task(event.task)?;
    let trace = Trace { store: id, task: event.task };
    let mut span = trace.span(ROOT, None, "task", (task.seed.created, event.at));
    span["attributes"] = json!([
        text("acquit.task", &event.task.to_string()),
        text("acquit.project", &task.seed.project.name),
        text("acquit.workflow", task.seed.workflow.as_str()),
        text("acquit.state", task.state.word()),
    ]);
    span["status"] = status(task.state.word() == "done" || task.state.word() == "no_improvement");
    Ok(span)
}

fn of_leg(store: &mut dyn Store, id: &StoreId, task: TaskId, number: u32) -> Result<Vec<Value>, Error> {
    let Some(leg) = store.legs(task)?.into_iter().find(|leg| leg.id.number == number) else {
        return Ok(Vec::new());
    };
    let (Some(started), Some(ended)) = (leg.started, leg.ended) else { return Ok(Vec::new()) };
    let trace = Trace { store: id, task };
    let own = format!("leg-{number}");
    let mut whole = trace.span(&own, Some(ROOT), leg.entry.stage.as_str(), (started, ended));
    whole["attributes"] = Value::Array(attributes(&leg));
    whole["status"] = status(leg.state == State::Passed);
    let mut spans = vec![whole];
    each_event(store, Some(task), |event| {
        if event.leg != Some(number) {
            return;
        }
        let (name, took, passed) = match &event.body {
            Body::Step { step, took } => (step.name().to_owned(), *took, true),
            Body::Gate { verdict } if verdict.reused.is_none() => {
                (format!("gate {}", verdict.gate), verdict.took, verdict.passed)
            }
            _ => return,
        };
        let times = (before(event.at, took).max(started).min(ended), event.at.min(ended));
        let mut span = trace.span(&format!("event-{}", event.seq), Some(&own), &name, times);
        span["status"] = status(passed);
        spans.push(span);
    })?;
    Ok(spans)
}

fn attributes(leg: &Leg) -> Vec<Value> {
    let mut all = vec![
        text("acquit.leg", &leg.id.to_string()),
        text("acquit.stage", leg.entry.stage.as_str()),
        text("acquit.state", leg.state.name()),
    ];
    if let Some(owner) = &leg.owner {
        all.push(text("host.name", &owner.host));
        all.extend(owner.worker.as_deref().map(|worker| text("acquit.worker", worker)));
    }
    all.extend(leg.usage.model.as_deref().map(|model| text("gen_ai.request.model", model)));
    if let Some(cost) = leg.usage.paid() {
        #[allow(clippy::cast_precision_loss, reason = "a cost is far from 2^53 millionths")]
        let dollars = cost as f64 / 1e6;
        all.push(json!({ "key": "acquit.cost_dollars", "value": { "doubleValue": dollars } }));
    }
    all
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// The status of a span: 1 is OK, 2 an error.
fn status(good: bool) -> Value {
    json!({ "code": if good { 1 } else { 2 } })
}

fn before(at: Timestamp, took: Span) -> Timestamp {
    Timestamp(at.0.saturating_sub(i64::try_from(took.duration().as_millis()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_go_over_plain_http_only_to_this_machine() {
        for good in [
            "https://otel.example/v1/traces",
            "http://127.0.0.1:4318/v1/traces",
            "http://localhost/v1/traces",
        ] {
            assert!(is_private(good), "{good}");
        }
        for bad in ["http://otel.example:4318/v1/traces", "http://127.0.0.1.evil.example/v1/traces"] {
            assert!(!is_private(bad), "{bad}");
        }
    }
}
