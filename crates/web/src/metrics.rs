//! `/healthz` for supervisors, and `/metrics` for Prometheus.
//!
//! `/healthz` needs no token and only shows whether the store responds. It accepts every host name, because probes
//! connect by address. `/metrics` needs a token of any role: its labels contain names of projects, agents and models.
//!
//! Counters are sums over the indexed tasks, so they survive a restart of the server. They decrease when old tasks are
//! removed; `rate()` treats that as a reset.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use acquit_app::Error;
use acquit_app::index::{Standing, TaskIndex};
use acquit_core::fleet::SeenWorker;
use acquit_core::leg;
use acquit_core::store::{Lease, Store};
use acquit_core::time::Timestamp;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::shared::{Held, Shared, failed};

/// Timeout of the store for `/healthz`.
const ANSWERS: Duration = Duration::from_secs(5);

/// Content type of the Prometheus text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Reports whether the server can use its store.
pub async fn healthz(State(shared): Held) -> Response {
    let asked = shared.pool.run(|_, store| Ok::<_, Error>(store.now()?));
    let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    match tokio::time::timeout(ANSWERS, asked).await {
        Ok(Some(Ok(_))) => (text, "ok\n").into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, text, "the store does not answer\n").into_response(),
    }
}

/// Returns the metrics for Prometheus.
pub async fn metrics(State(shared): Held) -> Response {
    let held = Arc::clone(&shared);
    match shared.pool.run(move |_, store| collect(&held, store)).await {
        Some(Ok(text)) => ([(header::CONTENT_TYPE, FORMAT)], text).into_response(),
        Some(Err(error)) => failed(Some(&error)),
        None => failed(None),
    }
}

fn collect(shared: &Shared, store: &mut dyn Store) -> Result<String, Error> {
    let now = store.now()?;
    let leases: Vec<Lease> = store.running()?.into_iter().map(|(_, lease)| lease).collect();
    let workers = store.workers()?;
    // Counters must not start low and grow, so all tasks are read first.
    Ok(render(&*shared.whole_index(store)?, &leases, &workers, now))
}

/// The metric families of a response, in sequence.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Writes a family: its description, its type, and a value for each set of labels.
    fn family<'a>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, f64)>,
    ) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in values {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }
}

/// Escapes the value of a label. Names of repositories and agents are untrusted text.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the label of a task's state.
fn state(standing: Standing) -> &'static str {
    match standing {
        Standing::Working => "working",
        Standing::Needs => "needs_input",
        Standing::Blocked => "blocked",
        Standing::Done => "done",
        Standing::Failed => "failed",
        Standing::NoImprovement => "no_improvement",
        Standing::Cancelled => "cancelled",
    }
}

#[derive(Clone, Copy, Default)]
struct Spent {
    legs: u32,
    seconds: f64,
    dollars: f64,
    tokens: u64,
}

#[allow(clippy::cast_precision_loss, reason = "Prometheus knows only floats; 2^53 tokens are out of reach")]
fn render(index: &TaskIndex, leases: &[Lease], workers: &[SeenWorker], now: Timestamp) -> String {
    let mut tasks = BTreeMap::<(&str, &str), u32>::new();
    let mut legs = BTreeMap::<&str, u32>::new();
    let mut spent = BTreeMap::<(&str, &str, &str), Spent>::new();
    let mut oldest = Duration::ZERO;
    for task in index.all() {
        *tasks.entry((&task.project, state(task.standing))).or_default() += 1;
        for one in task.legs() {
            *legs.entry(one.state.name()).or_default() += 1;
            // The leg became ready when the task last changed, or when its delay ended.
            let ready = one.not_before.max(task.updated);
            if one.state == leg::State::Ready && ready <= now {
                oldest = oldest.max(now.since(ready));
            }
            if one.ended.is_some() {
                let (agent, model) = (
                    one.shape.agent.as_deref().unwrap_or_default(),
                    one.shape.model.as_deref().unwrap_or_default(),
                );
                let sum = spent.entry((&task.project, agent, model)).or_default();
                sum.legs += 1;
                sum.seconds += one.took(now).as_secs_f64();
                sum.dollars += one.cost().unwrap_or(0) as f64 / 1e6;
                sum.tokens += one.tokens();
            }
        }
    }
    let mut text = Text::default();
    let version = [(vec![("version", env!("CARGO_PKG_VERSION"))], 1.0)];
    text.family("acquit_build_info", "gauge", "The version that runs.", version);
    let by_state = tasks
        .iter()
        .map(|((project, state), count)| (vec![("project", *project), ("state", *state)], f64::from(*count)));
    text.family("acquit_tasks", "gauge", "Tasks by project and state.", by_state);
    let by_state = leg::State::ALL
        .iter()
        .map(|(name, _)| (vec![("state", *name)], legs.get(name).map_or(0.0, |count| f64::from(*count))));
    text.family("acquit_legs", "gauge", "Legs by state.", by_state);
    let age = [(vec![], oldest.as_secs_f64())];
    text.family(
        "acquit_oldest_ready_leg_seconds",
        "gauge",
        "How long the oldest leg that is due has waited.",
        age,
    );
    let valid = leases.iter().filter(|lease| **lease == Lease::Valid).count();
    let expired = leases.len() - valid;
    let by_state = [("valid", valid), ("expired", expired)];
    let by_state = by_state.map(|(state, count)| (vec![("state", state)], count as f64));
    text.family("acquit_leases", "gauge", "Leases of running legs.", by_state);
    let sums = |of: fn(&Spent) -> f64| {
        spent.iter().map(move |((project, agent, model), sum)| {
            (vec![("project", *project), ("agent", *agent), ("model", *model)], of(sum))
        })
    };
    text.family("acquit_finished_legs_total", "counter", "Legs that ended.", sums(|sum| f64::from(sum.legs)));
    text.family(
        "acquit_leg_seconds_total",
        "counter",
        "Duration of legs that ended.",
        sums(|sum| sum.seconds),
    );
    text.family("acquit_cost_dollars_total", "counter", "Cost of legs that ended.", sums(|sum| sum.dollars));
    text.family(
        "acquit_tokens_total",
        "counter",
        "Tokens of legs that ended.",
        sums(|sum| sum.tokens as f64),
    );
    let of_workers = |of: fn(&SeenWorker, Timestamp) -> f64| {
        workers.iter().map(move |seen| (vec![("worker", seen.worker.name.as_str())], of(seen, now)))
    };
    text.family(
        "acquit_worker_slots",
        "gauge",
        "Slots of a worker.",
        of_workers(|seen, _| f64::from(seen.worker.slots)),
    );
    text.family(
        "acquit_worker_silent_seconds",
        "gauge",
        "Time since a worker last reported.",
        of_workers(|seen, now| now.since(seen.seen).as_secs_f64()),
    );
    text.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_early_or_begin_a_line() {
        let mut text = Text::default();
        text.family("acquit_x", "gauge", "X.", [(vec![("project", "a\"} 1\nacquit_y{b=\"\\")], 2.5)]);
        assert_eq!(
            text.0,
            "# HELP acquit_x X.\n# TYPE acquit_x gauge\nacquit_x{project=\"a\\\"} 1\\nacquit_y{b=\\\"\\\\\"} 2.5\n"
        );
    }

    /// Renaming a metric must not leave behind an empty panel, or an alert that never fires.
    #[test]
    fn the_grafana_dashboard_and_the_manifests_ask_only_for_metrics_that_exist() {
        let text = render(&TaskIndex::default(), &[], &[], Timestamp(0));
        let known: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let dashboard = include_str!("../../../deploy/grafana/acquit.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("a dashboard");
        let mut asked = vec![include_str!("../../../deploy/kubernetes/scale.yaml").to_owned()];
        for panel in dashboard["panels"].as_array().expect("panels") {
            let targets = panel["targets"].as_array().expect("targets").iter();
            asked.extend(targets.map(|target| target["expr"].as_str().expect("a query").to_owned()));
        }
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let names = |text: &String| -> Vec<String> {
            text.split(|letter| !is_part(letter))
                .filter(|word| word.starts_with("acquit_"))
                .map(str::to_owned)
                .collect()
        };
        let asked: Vec<String> =
            asked.iter().flat_map(names).filter(|name| name != "acquit_wanted_legs").collect();
        assert!(asked.len() > known.len(), "{asked:?}");
        let unknown: Vec<&String> = asked.iter().filter(|name| !known.contains(&name.as_str())).collect();
        assert_eq!(unknown, Vec::<&String>::new());
    }

    #[test]
    fn an_empty_store_has_every_state_of_legs_at_zero() {
        let text = render(&TaskIndex::default(), &[], &[], Timestamp(0));
        assert!(text.contains("acquit_legs{state=\"ready\"} 0\n"), "{text}");
        assert!(text.contains("acquit_oldest_ready_leg_seconds 0\n"), "{text}");
    }
}
