//! Cost and results of tasks by project, workflow, agent and model, computed from the store.

use std::collections::BTreeMap;

use acquit_core::agent::Usage;
use acquit_core::ids::TaskId;
use acquit_core::leg::{self, Leg};
use acquit_core::store::{Filter, Store};
use acquit_core::task::{End, State, Task};
use acquit_core::time::Span;
use acquit_core::workflow::Work;
use serde::Serialize;

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

/// Results of tasks and cost of their legs.
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
    pub projects: BTreeMap<String, Group>,
    /// By workflow. Each task counts once.
    pub workflows: BTreeMap<String, Group>,
    /// By agent. Each of its legs counts.
    pub agents: BTreeMap<String, Group>,
    /// By model. Each leg that used it counts.
    pub models: BTreeMap<String, Group>,
}

/// A group of tasks or legs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    /// Number of tasks or legs.
    pub count: u64,
    /// Number that succeeded: completed tasks, or legs that passed their gates.
    pub succeeded: u64,
    /// Number that ended otherwise.
    pub failed: u64,
    /// Run time of the legs in milliseconds.
    pub ran_millis: u64,
    /// Usage of the legs.
    pub usage: Usage,
    /// Known cost in millionths of a dollar.
    pub cost_micros: Option<u64>,
}

/// Result of a task or leg.
#[derive(Clone, Copy)]
enum Fate {
    Succeeded,
    Failed,
    Open,
}

impl Group {
    fn add(&mut self, fate: Fate, legs: &[&Leg]) {
        self.count += 1;
        match fate {
            Fate::Succeeded => self.succeeded += 1,
            Fate::Failed => self.failed += 1,
            Fate::Open => {}
        }
        for leg in legs {
            self.usage.add(&leg.usage);
            let ran = leg.started.zip(leg.ended).map(|(started, ended)| ended.since(started));
            self.ran_millis += ran.map_or(0, |ran| u64::try_from(ran.as_millis()).unwrap_or(u64::MAX));
        }
        self.cost_micros = self.usage.paid();
    }
}

/// Computes the statistics.
pub fn stats(app: &App, store: &mut dyn Store, which: Which) -> Result<Stats, Error> {
    let project = if which.all_projects { None } else { app.project_here() };
    let most = which.limit.saturating_add(1).min(100_000);
    let mut list = store.list(&Filter { project, state: None, ended: true, limit: most })?;
    let mut stats = Stats { more: list.len() > which.limit as usize, ..Stats::default() };
    list.truncate(which.limit as usize);
    let now = store.now()?;
    if let Some(since) = which.since {
        list.retain(|task| now.since(task.created) <= since.duration());
    }
    for task in list {
        count(store, task.id, &mut stats)?;
    }
    stats.cost_micros = stats.usage.paid();
    Ok(stats)
}

fn count(store: &mut dyn Store, id: TaskId, stats: &mut Stats) -> Result<(), Error> {
    let (task, legs, definition) = (store.task(id)?, store.legs(id)?, store.definition(id)?);
    let all: Vec<&Leg> = legs.iter().collect();
    stats.tasks += 1;
    legs.iter().for_each(|leg| stats.usage.add(&leg.usage));
    stats.projects.entry(task.seed.project.name.clone()).or_default().add(of_task(&task), &all);
    stats.workflows.entry(task.seed.workflow.to_string()).or_default().add(of_task(&task), &all);
    for leg in &legs {
        let stage = definition.workflow.stage(leg.entry.stage.as_str());
        let Some(Work::Agent(work)) = stage.map(|stage| &stage.work) else { continue };
        let fate = of_leg(leg.state);
        if let Some(agent) = work.agent.as_ref().or(definition.config.agent.as_ref()) {
            stats.agents.entry(agent.to_string()).or_default().add(fate, &[leg]);
        }
        if let Some(model) = &leg.usage.model {
            stats.models.entry(model.clone()).or_default().add(fate, &[leg]);
        }
    }
    Ok(())
}

fn of_task(task: &Task) -> Fate {
    match &task.state {
        State::Ended { end: End::Done } => Fate::Succeeded,
        State::Ended { end: End::Failed { .. } | End::NoImprovement | End::Cancelled { .. } } => Fate::Failed,
        State::New | State::Working { .. } | State::Waiting { .. } | State::Blocked { .. } => Fate::Open,
    }
}

fn of_leg(state: leg::State) -> Fate {
    match state {
        leg::State::Passed => Fate::Succeeded,
        leg::State::Rejected
        | leg::State::Failed
        | leg::State::TimedOut
        | leg::State::Cancelled
        | leg::State::Lost => Fate::Failed,
        // A held leg says nothing about the agent: the provider had no capacity.
        leg::State::Ready | leg::State::Running | leg::State::Held => Fate::Open,
    }
}
