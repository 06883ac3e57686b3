//! How tasks moved through a workflow: where they are, and how often each transition was taken.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::time::Timestamp;
use acquit_core::workflow::{Target, Work, Workflow};
use serde::Serialize;

use crate::figures::{self, Figures};
use crate::index::{IndexedTask, Reason, Standing};

/// A transition from one stage to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Arrow {
    /// Stage it leaves; `None` for the start of the task.
    pub from: Option<String>,
    /// Outcome that took it.
    pub outcome: String,
    /// Stage it leads to; `None` for the end of the task.
    pub to: Option<String>,
}

/// Figures of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageFigures {
    /// Legs that ended here.
    pub legs: u64,
    /// First attempts that were judged.
    pub first_tries: u64,
    /// First attempts that passed.
    pub first_passed: u64,
    /// Number of rejections by gate.
    pub rejected_by: BTreeMap<String, u64>,
    /// Duration of each leg in milliseconds.
    #[serde(skip)]
    pub lengths: Vec<u64>,
    /// Cost in millionths of a dollar.
    pub cost: u64,
    /// Tasks that are here now, with their status.
    pub here: Vec<(TaskId, Here)>,
}

/// Status of a task at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Here {
    /// Waits for a person.
    Needs,
    /// A leg runs.
    Runs,
    /// Waits for something else.
    Waits,
}

/// How tasks moved through a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Number of counted tasks.
    pub tasks: u64,
    /// Number of finished tasks, without cancelled ones.
    pub over: u64,
    /// Number of completed tasks.
    pub done: u64,
    /// Number of requests to people.
    pub asked: u64,
    /// How often each transition was taken.
    pub arrows: BTreeMap<Arrow, u64>,
    /// Figures by stage.
    pub stages: BTreeMap<String, StageFigures>,
}

impl StageFigures {
    /// Returns the median duration.
    pub fn median(&self) -> Option<Duration> {
        figures::median(&self.lengths)
    }
}

impl Flow {
    /// Completes the sum for a workflow: sorts tasks by status, and adds human stages to transitions.
    #[must_use]
    pub fn of(mut self, workflow: &Workflow) -> Self {
        self.stages.values_mut().for_each(|figures| figures.here.sort_by_key(|(id, here)| (*here, *id)));
        self.through_people(workflow);
        self
    }

    /// Splits transitions that skip a human stage into two: human stages have no legs, so the legs alone do not show
    /// them.
    fn through_people(&mut self, workflow: &Workflow) {
        let person = |arrow: &Arrow| {
            let stage = workflow.stage(arrow.from.as_deref()?)?;
            let outcome = stage.on.iter().find(|(name, _)| name.as_str() == arrow.outcome)?.1;
            let [Target::Stage(next)] = outcome.to.as_slice() else { return None };
            let next = workflow.stage(next.as_str())?;
            let skipped = arrow.to.as_deref() != Some(next.name.as_str());
            (skipped && matches!(next.work, Work::Human { .. })).then_some(next)
        };
        for (arrow, count) in std::mem::take(&mut self.arrows) {
            let Some(stage) = person(&arrow) else {
                *self.arrows.entry(arrow).or_default() += count;
                continue;
            };
            let to = arrow.to.as_deref();
            let leads = |target: &Target| match target {
                Target::Stage(name) => Some(name.as_str()) == to,
                Target::Done | Target::Failed => to.is_none(),
                Target::Person | Target::Back | Target::NextVariation => false,
            };
            let said = stage.on.iter().find(|(_, transition)| transition.to.iter().any(leads));
            let said = said.map_or_else(|| "answered".to_owned(), |(name, _)| name.to_string());
            let name = Some(stage.name.to_string());
            let second = Arrow { from: name.clone(), outcome: said, to: arrow.to.clone() };
            for arrow in [Arrow { to: name, ..arrow }, second] {
                *self.arrows.entry(arrow).or_default() += count;
            }
        }
    }
}

impl Figures for Flow {
    fn count(&mut self, task: &IndexedTask, now: Timestamp) {
        self.tasks += 1;
        self.asked += u64::from(task.requests);
        self.done += u64::from(task.standing == Standing::Done);
        self.over +=
            u64::from(matches!(task.standing, Standing::Done | Standing::Failed | Standing::NoImprovement));
        let mut at: Option<(String, String)> = None;
        for leg in task.legs() {
            let stage = leg.stage.to_string();
            if at.as_ref().is_none_or(|(from, outcome)| *from != stage || outcome != "again") {
                let (from, outcome) = at.clone().map_or((None, String::new()), |(from, by)| (Some(from), by));
                *self.arrows.entry(Arrow { from, outcome, to: Some(stage.clone()) }).or_default() += 1;
            }
            let figures = self.stages.entry(stage.clone()).or_default();
            if leg.ended.is_some() {
                figures.legs += 1;
                figures.lengths.push(u64::try_from(leg.took(now).as_millis()).unwrap_or(u64::MAX));
                figures.cost = figures.cost.saturating_add(leg.cost().unwrap_or(0));
            }
            for gate in &leg.rejected_by {
                *figures.rejected_by.entry(gate.to_string()).or_default() += 1;
            }
            // A lost or held leg runs again, so it leads nowhere.
            at = Some((stage, leg.outcome.as_deref().unwrap_or("again").to_owned()));
        }
        for stage in task.stages.iter() {
            let first = task.legs().find(|leg| {
                leg.stage == stage.name
                    && matches!(leg.reason, Reason::Work | Reason::Fix)
                    && matches!(leg.state, leg::State::Passed | leg::State::Rejected | leg::State::Failed)
            });
            if let Some(first) = first {
                let figures = self.stages.entry(stage.name.to_string()).or_default();
                figures.first_tries += 1;
                figures.first_passed += u64::from(first.state == leg::State::Passed);
            }
        }
        // The task waits for a person at a stage without a leg.
        if let (Standing::Needs, Some(stage), Some((from, outcome))) = (task.standing, &task.stage, &at)
            && **stage != **from
        {
            let arrow =
                Arrow { from: Some(from.clone()), outcome: outcome.clone(), to: Some(stage.to_string()) };
            *self.arrows.entry(arrow).or_default() += 1;
        }
        if let (true, Some((from, outcome))) = (task.standing.is_over(), at) {
            let outcome = if task.standing == Standing::Cancelled { "cancelled".to_owned() } else { outcome };
            *self.arrows.entry(Arrow { from: Some(from), outcome, to: None }).or_default() += 1;
        }
        if let (false, Some(stage)) = (task.standing.is_over(), &task.stage) {
            let runs = task.legs().last().is_some_and(|leg| leg.state == leg::State::Running);
            let here = match (task.standing, runs) {
                (Standing::Needs, _) => Here::Needs,
                (_, true) => Here::Runs,
                (_, false) => Here::Waits,
            };
            self.stages.entry(stage.to_string()).or_default().here.push((task.id, here));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.over += other.over;
        self.done += other.done;
        self.asked += other.asked;
        for (arrow, count) in &other.arrows {
            *self.arrows.entry(arrow.clone()).or_default() += count;
        }
        for (stage, theirs) in &other.stages {
            let mine = self.stages.entry(stage.clone()).or_default();
            mine.legs += theirs.legs;
            mine.first_tries += theirs.first_tries;
            mine.first_passed += theirs.first_passed;
            for (gate, count) in &theirs.rejected_by {
                *mine.rejected_by.entry(gate.clone()).or_default() += count;
            }
            mine.lengths.extend_from_slice(&theirs.lengths);
            mine.cost = mine.cost.saturating_add(theirs.cost);
            mine.here.extend_from_slice(&theirs.here);
        }
    }
}
