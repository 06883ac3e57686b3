//! Figures over many tasks: cost by project, agent, model and day, and a comparison of agents.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::leg;
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::index::{IndexedLeg, IndexedTask, Reason, Standing, Word};

/// Cost of a group of tasks or legs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// Number of tasks or legs.
    pub count: u64,
    /// Total cost in millionths of a dollar.
    pub cost: u64,
    /// Part of the cost that went into completed tasks.
    pub proven: u64,
    /// Part of the cost that is estimated from our price list.
    pub estimated: u64,
    /// Total tokens.
    pub tokens: u64,
    /// Total run time of the legs in milliseconds.
    pub ran_millis: u64,
}

/// Cost of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// Total.
    pub all: Bill,
    /// Number of completed tasks.
    pub done: u64,
    /// Number of finished tasks, without cancelled ones.
    pub over: u64,
    /// By project.
    pub projects: BTreeMap<String, Bill>,
    /// By workflow.
    pub workflows: BTreeMap<String, Bill>,
    /// By agent. Counts each of its legs.
    pub agents: BTreeMap<String, Bill>,
    /// By model. Counts each of its legs.
    pub models: BTreeMap<String, Bill>,
    /// By day, as `day` numbers them. Each leg counts on the day it started.
    pub days: BTreeMap<i64, Bill>,
    /// The most expensive tasks with their cost.
    pub dearest: Vec<(acquit_core::ids::TaskId, String, u64)>,
}

/// Number of most expensive tasks to list.
const DEAREST: usize = 10;

impl Bill {
    fn add(&mut self, task: &IndexedTask, leg: &IndexedLeg, now: Timestamp) {
        let cost = leg.cost.unwrap_or(0);
        self.cost = self.cost.saturating_add(cost);
        if task.standing == Standing::Done {
            self.proven = self.proven.saturating_add(cost);
        }
        self.estimated = self.estimated.saturating_add(leg.estimated);
        self.tokens = self.tokens.saturating_add(leg.tokens);
        self.ran_millis += u64::try_from(leg.took(now).as_millis()).unwrap_or(0);
    }
}

/// Sums up the cost of these tasks. `day` maps a time to its day.
pub fn costs<'t>(
    tasks: impl IntoIterator<Item = &'t IndexedTask>,
    now: Timestamp,
    day: impl Fn(Timestamp) -> i64,
) -> Costs {
    let mut costs = Costs::default();
    for task in tasks {
        costs.all.count += 1;
        costs.done += u64::from(task.standing == Standing::Done);
        costs.over += u64::from(is_judged(task.standing));
        costs.projects.entry(task.project.to_string()).or_default().count += 1;
        costs.workflows.entry(task.workflow.to_string()).or_default().count += 1;
        for leg in &task.legs {
            costs.all.add(task, leg, now);
            costs.projects.entry(task.project.to_string()).or_default().add(task, leg, now);
            costs.workflows.entry(task.workflow.to_string()).or_default().add(task, leg, now);
            for (groups, name) in [(&mut costs.agents, &leg.agent), (&mut costs.models, &leg.model)] {
                if let Some(name) = name {
                    let bill = groups.entry(name.to_string()).or_default();
                    bill.count += 1;
                    bill.add(task, leg, now);
                }
            }
            if let Some(started) = leg.started {
                let bill = costs.days.entry(day(started)).or_default();
                bill.count += 1;
                bill.add(task, leg, now);
            }
        }
        if let Some(cost) = task.cost().filter(|cost| *cost > 0) {
            costs.dearest.push((task.id, task.title.clone(), cost));
        }
    }
    costs.dearest.sort_by_key(|(id, _, cost)| (std::cmp::Reverse(*cost), *id));
    costs.dearest.truncate(DEAREST);
    costs
}

/// Returns whether the result of a task says something about its agent.
fn is_judged(standing: Standing) -> bool {
    matches!(standing, Standing::Done | Standing::Failed | Standing::NoImprovement)
}

/// Results of one agent with one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Performance {
    /// Finished tasks, without cancelled ones. All task rates are based on these.
    pub tasks: u64,
    /// Completed tasks among them.
    pub done: u64,
    /// First attempts at gated stages.
    pub first_tries: u64,
    /// First attempts that passed their gates.
    pub first_passed: u64,
    /// Legs that fixed what gates rejected.
    pub fixes: u64,
    /// Total cost in millionths of a dollar, including failed work.
    pub cost: u64,
    /// Run time of each of these tasks in milliseconds, shortest first.
    pub lengths: Vec<u64>,
}

impl Performance {
    /// Returns the cost per completed task, including failed work.
    pub fn cost_each(&self) -> Option<u64> {
        self.cost.checked_div(self.done)
    }

    /// Returns the median run time.
    pub fn median(&self) -> Option<Duration> {
        self.lengths.get(self.lengths.len() / 2).copied().map(Duration::from_millis)
    }

    /// Returns the share of completed tasks.
    pub fn rate(&self) -> Option<Rate> {
        Rate::of(self.done, self.tasks)
    }

    /// Returns the share of first attempts that passed their gates.
    pub fn first_rate(&self) -> Option<Rate> {
        Rate::of(self.first_passed, self.first_tries)
    }
}

/// A share with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Observed share, between 0 and 1.
    pub seen: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Number of cases.
    pub cases: u64,
}

impl Rate {
    /// Computes the Wilson score interval, which is valid for few cases and for shares near 0 and 1.
    pub fn of(hits: u64, cases: u64) -> Option<Self> {
        /// Quantile for 95 %.
        const Z: f64 = 1.96;
        if cases == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "numbers of tasks are far below 2^52")]
        let (hits, number) = (hits as f64, cases as f64);
        let seen = hits / number;
        let below = 1.0 + Z * Z / number;
        let middle = (seen + Z * Z / (2.0 * number)) / below;
        let half = Z * (seen * (1.0 - seen) / number + Z * Z / (4.0 * number * number)).sqrt() / below;
        Some(Self { seen, low: (middle - half).max(0.0), high: (middle + half).min(1.0), cases })
    }
}

/// Returns the author of a task: agent and model of the first leg that wrote the change, or of the first leg with an
/// agent.
fn author(task: &IndexedTask) -> Option<(Word, Word)> {
    let writes = |leg: &&IndexedLeg| {
        task.stages.iter().any(|stage| stage.name == leg.stage && stage.writes) && leg.agent.is_some()
    };
    let leg = task.legs.iter().find(writes).or_else(|| task.legs.iter().find(|leg| leg.agent.is_some()))?;
    let model = leg.model.clone().unwrap_or_else(|| Word::from("model not told"));
    Some((leg.agent.clone()?, model))
}

/// Compares agents and models, keyed by (agent, model).
pub fn compare<'t>(
    tasks: impl IntoIterator<Item = &'t IndexedTask>,
    now: Timestamp,
) -> BTreeMap<(String, String), Performance> {
    let mut all: BTreeMap<(String, String), Performance> = BTreeMap::new();
    for task in tasks.into_iter().filter(|task| is_judged(task.standing)) {
        let Some((agent, model)) = author(task) else { continue };
        let one = all.entry((agent.to_string(), model.to_string())).or_default();
        one.tasks += 1;
        one.done += u64::from(task.standing == Standing::Done);
        one.cost = one.cost.saturating_add(task.cost().unwrap_or(0));
        one.lengths.push(u64::try_from(task.took(now).as_millis()).unwrap_or(u64::MAX));
        one.fixes += task.legs.iter().filter(|leg| leg.reason == Reason::Fix).count() as u64;
        for stage in task.stages.iter().filter(|stage| stage.gated && !stage.repairs) {
            let first = task.legs.iter().find(|leg| {
                leg.stage == stage.name
                    && leg.reason == Reason::Work
                    && matches!(leg.state, leg::State::Passed | leg::State::Rejected)
            });
            one.first_tries += u64::from(first.is_some());
            one.first_passed += u64::from(first.is_some_and(|leg| leg.state == leg::State::Passed));
        }
    }
    all.values_mut().for_each(|one| one.lengths.sort_unstable());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cases_say_little() {
        let wide = Rate::of(3, 4).unwrap();
        let narrow = Rate::of(300, 400).unwrap();
        assert!(wide.high - wide.low > 0.5 && narrow.high - narrow.low < 0.1, "{wide:?} {narrow:?}");
        assert!(wide.low < 0.75 && 0.75 < wide.high && wide.high <= 1.0);
        let all = Rate::of(5, 5).unwrap();
        assert!(all.low < 0.6 && (all.high - 1.0).abs() < 1e-9, "{all:?}");
        assert_eq!(Rate::of(0, 0), None);
    }
}
