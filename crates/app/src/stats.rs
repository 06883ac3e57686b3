//! Cost and results of tasks by project, workflow, agent and model, and agents compared, as `acquit stats` and the API
//! show them.

use std::collections::BTreeMap;

use acquit_core::agent::Usage;
use acquit_core::store::{Filter, Store};
use acquit_core::time::{Span, Timestamp};
use serde::Serialize;

use crate::figures::{Bill, Compared, Costs, Dear, Performance, Rate, date, monday, sum};
use crate::index::{IndexedTask, TaskIndex};
use crate::{App, Error};

/// Selects the tasks to count.
#[derive(Clone, Copy, Debug)]
pub struct Which {
    /// Include all repositories.
    pub all_projects: bool,
    /// Only tasks added within this time.
    pub since: Option<Span>,
    /// Maximum number of tasks, newest first.
    pub limit: u32,
}

/// Cost and results of tasks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// Number of counted tasks.
    pub tasks: u64,
    /// Whether there are more tasks than the limit.
    pub more: bool,
    /// Total usage of all legs.
    pub usage: Usage,
    /// Total known cost in millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// By project. Each task counts once.
    pub projects: BTreeMap<String, Bill>,
    /// By workflow. Each task counts once.
    pub workflows: BTreeMap<String, Bill>,
    /// By agent. Each of its legs counts.
    pub agents: BTreeMap<String, Bill>,
    /// By model. Each leg that used it counts.
    pub models: BTreeMap<String, Bill>,
    /// Cost of completed tasks in millionths of a dollar.
    pub proven_micros: u64,
    /// By day in the machine's time zone, such as `2026-11-19`. Each leg counts on the day it started.
    pub days: BTreeMap<String, Bill>,
    /// The most expensive tasks.
    pub dearest: Vec<Dear>,
    /// Agents compared by model.
    pub compared: Vec<Contender>,
}

/// Results of an agent with a model. A task counts for the agent and model that first wrote its change.
#[derive(Clone, Debug, Serialize)]
pub struct Contender {
    /// Agent.
    pub agent: String,
    /// Model.
    pub model: String,
    /// Results.
    pub results: Performance,
    /// Share of completed tasks.
    pub rate: Option<Rate>,
    /// By week in which the tasks were added, named by its Monday.
    pub weeks: BTreeMap<String, Week>,
}

/// Results of a week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Week {
    /// Finished tasks, without cancelled ones.
    pub tasks: u64,
    /// Completed tasks among them.
    pub done: u64,
}

/// Computes the statistics.
pub fn stats(app: &App, store: &mut dyn Store, which: Which) -> Result<Stats, Error> {
    let project = if which.all_projects { None } else { app.project_here() };
    let most = which.limit.saturating_add(1).min(100_000);
    let mut list = store.list(&Filter { project, ended: true, limit: most, ..Filter::default() })?;
    let more = list.len() > which.limit as usize;
    list.truncate(which.limit as usize);
    let now = store.now()?;
    if let Some(since) = which.since {
        list.retain(|task| now.since(task.created) <= since.duration());
    }
    let index = TaskIndex::of(store, list.iter().map(|task| task.id))?;
    Ok(Stats { more, ..of(index.all(), now) })
}

/// Computes the statistics of these tasks.
pub fn of<'t>(tasks: impl Iterator<Item = &'t IndexedTask> + Clone, now: Timestamp) -> Stats {
    let costs: Costs = sum(tasks.clone(), now);
    let compared: Compared = sum(tasks, now);
    let Compared { agents, mut weeks } = compared;
    let mut contender = |(name, results): ((String, String), Performance)| {
        let weeks = weeks.remove(&name).unwrap_or_default().into_iter();
        let weeks = weeks.map(|(week, (done, tasks))| (monday(week), Week { tasks, done })).collect();
        let (agent, model) = name;
        Contender { agent, model, rate: results.rate(), results, weeks }
    };
    Stats {
        tasks: costs.all.count,
        more: false,
        cost_micros: costs.all.cost_micros,
        usage: costs.all.usage,
        projects: costs.projects,
        workflows: costs.workflows,
        agents: costs.agents,
        models: costs.models,
        proven_micros: costs.all.proven_micros,
        days: costs.days.into_iter().map(|(day, bill)| (date(day), bill)).collect(),
        dearest: costs.dearest,
        compared: agents.into_iter().map(&mut contender).collect(),
    }
}
