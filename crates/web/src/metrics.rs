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
use acquit_core::fleet::{Need, SeenWorker, WaitingLeg};
use acquit_core::leg::{self, Leg};
use acquit_core::store::{Lease, Store};
use acquit_core::time::Timestamp;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::shared::{Held, Shared, failed};

/// Timeout of the store for `/healthz`.
const ANSWERS: Duration = Duration::from_secs(5);

/// Maximum number of waiting legs to count.
const WAITING: u32 = 100_000;

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
    let seen = Seen {
        running: store.running()?,
        waiting: store.waiting(WAITING)?,
        workers: store.workers()?,
        renewals: store.renewals()?,
    };
    // Counters must not start low and grow, so all tasks are read first.
    Ok(render(&*shared.whole_index(store)?, &seen, now))
}

/// What the store says of legs and workers at one moment.
#[derive(Default)]
struct Seen {
    running: Vec<(Leg, Lease)>,
    waiting: Vec<WaitingLeg>,
    workers: Vec<SeenWorker>,
    renewals: u64,
}

/// Who can take a waiting leg, or what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum For {
    /// A worker with the leg's labels.
    Worker,
    /// The machine that its task was made on.
    Home,
    /// A limit of its pools, or a paused account.
    Limit,
    /// A moment that has not come.
    Time,
}

impl For {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Worker, "worker"), (Self::Home, "home"), (Self::Limit, "limit"), (Self::Time, "time")];

    fn of(leg: &WaitingLeg, now: Timestamp) -> Self {
        let needs = |wanted: fn(&Need) -> bool| leg.needs.iter().any(wanted);
        if leg.not_before > now {
            Self::Time
        } else if !leg.is_due(now) {
            Self::Limit
        } else if needs(|need| matches!(need, Need::Home(_)))
            || !needs(|need| matches!(need, Need::Repository(_)))
        {
            Self::Home
        } else {
            Self::Worker
        }
    }
}

/// Upper bounds of the buckets of [`handoffs`], in seconds.
const BUCKETS: [f64; 12] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0];

/// Counts how long legs waited from when they could be claimed, after the leg before them, until they were.
fn handoffs(index: &TaskIndex) -> (Vec<u64>, f64, u64) {
    let (mut buckets, mut sum, mut count) = (vec![0; BUCKETS.len()], 0.0, 0);
    for task in index.all() {
        let mut ended = None;
        for leg in task.legs() {
            if let (Some(before), Some(started)) = (ended, leg.started) {
                let took = started.since(leg.not_before.max(before)).as_secs_f64();
                BUCKETS
                    .iter()
                    .zip(&mut buckets)
                    .filter(|(most, _)| took <= **most)
                    .for_each(|(_, held)| *held += 1);
                sum += took;
                count += 1;
            }
            ended = leg.ended;
        }
    }
    (buckets, sum, count)
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

    /// Writes a histogram: the counts up to each of [`BUCKETS`], the sum and the number of all values.
    #[allow(clippy::cast_precision_loss, reason = "Prometheus knows only floats")]
    fn histogram(&mut self, name: &str, help: &str, (buckets, sum, count): (Vec<u64>, f64, u64)) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} histogram\n");
        for (most, held) in BUCKETS.iter().zip(buckets) {
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{most}\"}} {held}");
        }
        let _ =
            writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
    }
}

/// Writes the families about waiting legs.
#[allow(clippy::cast_precision_loss, reason = "Prometheus knows only floats")]
fn waiting(text: &mut Text, index: &TaskIndex, seen: &Seen, now: Timestamp) {
    let mut counts = BTreeMap::<(For, String), u64>::new();
    let mut oldest = BTreeMap::<For, Duration>::new();
    for leg in &seen.waiting {
        let who = For::of(leg, now);
        let labels = leg.needs.iter().filter_map(|need| match need {
            Need::Label(label) => Some(label.as_str()),
            _ => None,
        });
        let mut labels: Vec<&str> = labels.collect();
        labels.sort_unstable();
        *counts.entry((who, labels.join(","))).or_default() += 1;
        // It could be claimed since its task last changed, or since its delay ended.
        let since = index.get(leg.leg.task).map_or(leg.not_before, |task| leg.not_before.max(task.updated));
        let age = oldest.entry(who).or_default();
        *age = (*age).max(now.since(since));
    }
    for (who, _) in For::ALL {
        if !counts.keys().any(|(known, _)| *known == who) {
            counts.insert((who, String::new()), 0);
        }
    }
    let name = |who: For| For::ALL.iter().find(|(known, _)| *known == who).map_or("", |(_, name)| *name);
    let values = counts.iter().map(|((who, labels), count)| {
        (vec![("for", name(*who)), ("labels", labels.as_str())], *count as f64)
    });
    text.family("acquit_waiting_legs", "gauge", "Legs that wait, by who can take them.", values);
    let ages = [For::Worker, For::Home]
        .map(|who| (vec![("for", name(who))], oldest.get(&who).map_or(0.0, Duration::as_secs_f64)));
    let help = "How long the oldest leg has waited that could be claimed at once.";
    text.family("acquit_oldest_ready_leg_seconds", "gauge", help, ages);
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
fn render(index: &TaskIndex, seen: &Seen, now: Timestamp) -> String {
    let workers = &seen.workers;
    let mut tasks = BTreeMap::<(&str, &str), u32>::new();
    let mut legs = BTreeMap::<&str, u32>::new();
    let mut spent = BTreeMap::<(&str, &str, &str), Spent>::new();
    for task in index.all() {
        *tasks.entry((&task.project, state(task.standing))).or_default() += 1;
        for one in task.legs() {
            *legs.entry(one.state.name()).or_default() += 1;
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
    waiting(&mut text, index, seen, now);
    let valid = seen.running.iter().filter(|(_, lease)| *lease == Lease::Valid).count();
    let expired = seen.running.len() - valid;
    let by_state = [("valid", valid), ("expired", expired)];
    let by_state = by_state.map(|(state, count)| (vec![("state", state)], count as f64));
    text.family("acquit_leases", "gauge", "Leases of running legs.", by_state);
    let renewals = [(vec![], seen.renewals as f64)];
    text.family("acquit_lease_renewals_total", "counter", "Renewals of leases.", renewals);
    text.histogram(
        "acquit_handoff_seconds",
        "Time from when a leg could be claimed, after the leg before it, until it was.",
        handoffs(index),
    );
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
    let runs = |seen: &Seen, name: &str| {
        let by = |leg: &Leg| leg.owner.as_ref().is_some_and(|owner| owner.worker.as_deref() == Some(name));
        seen.running.iter().filter(|(leg, _)| by(leg)).count() as f64
    };
    text.family(
        "acquit_worker_legs",
        "gauge",
        "Running legs of a worker.",
        workers.iter().map(|one| (vec![("worker", one.worker.name.as_str())], runs(seen, &one.worker.name))),
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
    use acquit_core::fleet::Full;

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
        let text = render(&TaskIndex::default(), &Seen::default(), Timestamp(0));
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
        // The series of a histogram have its name with an end.
        let base = |name: &str| {
            let ends = ["_bucket", "_sum", "_count"];
            ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
        };
        let names = |text: &String| -> Vec<String> {
            text.split(|letter| !is_part(letter))
                .filter(|word| word.starts_with("acquit_"))
                .map(str::to_owned)
                .collect()
        };
        let asked: Vec<String> =
            asked.iter().flat_map(names).filter(|name| name != "acquit_wanted_legs").collect();
        assert!(asked.len() > known.len(), "{asked:?}");
        let unknown: Vec<&String> = asked
            .iter()
            .filter(|name| !known.contains(&name.as_str()) && !known.contains(&base(name).as_str()))
            .collect();
        assert_eq!(unknown, Vec::<&String>::new());
    }

    #[test]
    fn an_empty_store_has_every_state_of_legs_at_zero() {
        let text = render(&TaskIndex::default(), &Seen::default(), Timestamp(0));
        assert!(text.contains("acquit_legs{state=\"ready\"} 0\n"), "{text}");
        assert!(text.contains("acquit_oldest_ready_leg_seconds{for=\"worker\"} 0\n"), "{text}");
        assert!(text.contains("acquit_handoff_seconds_bucket{le=\"+Inf\"} 0\n"), "{text}");
    }

    #[test]
    fn waiting_legs_are_counted_by_who_can_take_them() {
        let leg = |task: &str, needs: &[&str], not_before: i64| WaitingLeg {
            leg: task.parse().expect("a leg"),
            stage: "code".to_owned(),
            not_before: Timestamp(not_before),
            needs: needs.iter().map(|need| need.parse().expect("a need")).collect(),
            cancel: false,
            full: None,
        };
        let limited = WaitingLeg {
            full: Some(Full { pool: "project:/p".to_owned(), until: None, at_once: Some(1) }),
            ..leg("T-5.1", &["repository:r"], 0)
        };
        let waiting = vec![
            leg("T-1.1", &["repository:r", "label:os=linux", "label:gpu"], 2_000),
            leg("T-2.1", &["repository:r"], 4_000),
            leg("T-3.9", &["home:delivery"], 1_000),
            leg("T-4.1", &["repository:r"], 9_000),
            limited,
        ];
        let seen = Seen { waiting, renewals: 7, ..Seen::default() };
        let text = render(&TaskIndex::default(), &seen, Timestamp(5_000));
        for line in [
            "acquit_waiting_legs{for=\"worker\",labels=\"gpu,os=linux\"} 1",
            "acquit_waiting_legs{for=\"worker\",labels=\"\"} 1",
            "acquit_waiting_legs{for=\"home\",labels=\"\"} 1",
            "acquit_waiting_legs{for=\"limit\",labels=\"\"} 1",
            "acquit_waiting_legs{for=\"time\",labels=\"\"} 1",
            "acquit_oldest_ready_leg_seconds{for=\"worker\"} 3",
            "acquit_oldest_ready_leg_seconds{for=\"home\"} 4",
            "acquit_lease_renewals_total 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
