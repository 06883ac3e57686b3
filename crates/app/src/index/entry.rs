//! The index's entry of a task: everything that lists and figures need, without agent output.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use acquit_core::agent::Usage;
use acquit_core::definition::Definition;
use acquit_core::ids::TaskId;
use acquit_core::leg::{self, Ending, Leg, Past, Purpose};
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;
use acquit_core::workflow::{Mode, Stage, Work, Workflow};

use super::legs::{self, IndexedLeg, Legs};
use super::shape::{LegShape, Reason, StageShape, Standing, TaskShape, Word};

/// Words that tasks share, so that each is stored once.
#[derive(Default)]
pub(super) struct Words {
    texts: Held<str>,
    stages: Held<[StageShape]>,
    legs: Held<LegShape>,
    ways: Held<[Arc<LegShape>]>,
    tasks: Held<TaskShape>,
}

/// Values that are held once each.
struct Held<T: ?Sized> {
    known: HashSet<Arc<T>>,
    /// Number of values at which unused ones are dropped.
    most: usize,
}

/// A task in short.
#[derive(Clone, Debug)]
pub struct IndexedTask {
    /// Task id.
    pub id: TaskId,
    /// Title.
    pub title: Box<str>,
    /// Properties that it shares with other tasks.
    pub shape: Arc<TaskShape>,
    /// Legs; [`IndexedTask::legs`] reads them.
    pub legs: Legs,
    /// Number of requests it opened.
    pub requests: u32,
    /// Creation time.
    pub created: Timestamp,
    /// Start or end of its newest leg; the creation time before the first.
    pub updated: Timestamp,
}

impl std::ops::Deref for IndexedTask {
    type Target = TaskShape;

    fn deref(&self) -> &TaskShape {
        &self.shape
    }
}

impl IndexedTask {
    /// Returns its legs, oldest first.
    pub fn legs(&self) -> legs::Iter<'_> {
        self.legs.iter()
    }

    /// Returns the known cost of its legs.
    pub fn cost(&self) -> Option<u64> {
        self.legs().filter_map(|leg| leg.cost()).reduce(u64::saturating_add)
    }

    /// Returns the total run time of its legs.
    pub fn took(&self, now: Timestamp) -> Duration {
        self.legs().map(|leg| leg.took(now)).sum()
    }
}

impl<T: ?Sized> Default for Held<T> {
    fn default() -> Self {
        Self { known: HashSet::new(), most: 64 }
    }
}

impl<T: ?Sized + Hash + Eq> Held<T> {
    /// Returns the shared copy of a value.
    fn get(&mut self, value: impl Borrow<T> + Into<Arc<T>>) -> Arc<T> {
        if let Some(found) = self.known.get(value.borrow()) {
            return Arc::clone(found);
        }
        if self.known.len() >= self.most {
            // A task has other shapes with each of its steps.
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.most = 64.max(2 * self.known.len());
        }
        let new: Arc<T> = value.into();
        self.known.insert(Arc::clone(&new));
        new
    }
}

impl Words {
    fn word(&mut self, text: &str) -> Word {
        self.texts.get(text)
    }

    /// Returns what the index holds of a task.
    pub(super) fn entry(&mut self, task: &Task, legs: &[Leg], definition: &Definition) -> IndexedTask {
        let seed = &task.seed;
        let workflow = &definition.workflow;
        let agents: Vec<Option<Word>> = workflow
            .stages
            .iter()
            .map(|stage| agent_of(stage, definition).map(|name| self.word(&name)))
            .collect();
        let shapes: Vec<Arc<LegShape>> =
            legs.iter().map(|leg| self.leg(task, leg, workflow, &agents)).collect();
        let shapes = self.ways.get(shapes);
        let indexed = legs.iter().zip(shapes.iter()).map(|(leg, shape)| IndexedLeg {
            number: leg.id.number,
            shape,
            usage: used(&leg.usage),
            not_before: leg.not_before,
            started: leg.started,
            ended: leg.ended,
        });
        let packed = Legs::new(Arc::clone(&shapes), indexed);
        let stages: Vec<StageShape> =
            workflow.stages.iter().map(|stage| self.stage(stage, workflow)).collect();
        let moments = legs.iter().flat_map(|leg| [leg.started, leg.ended]).flatten();
        let updated = moments.max().map_or(seed.created, |moment| moment.max(seed.created));
        let shape = TaskShape {
            project: self.word(&seed.project.name),
            place: self.word(&seed.project.path),
            workflow: self.word(seed.workflow.as_str()),
            agent: agents.into_iter().flatten().next(),
            tags: seed.wish.tags.iter().map(|tag| self.word(tag)).collect(),
            standing: standing(&task.state),
            stage: task.state.stage().map(|stage| self.word(stage.as_str())),
            stages: self.stages.get(stages),
            max_cost: definition.chosen.max_cost.or(definition.config.max_cost),
        };
        IndexedTask {
            id: seed.id,
            title: task.listed_title().into(),
            shape: self.tasks.get(shape),
            legs: packed,
            requests: task.requests,
            created: seed.created,
            updated,
        }
    }

    fn stage(&mut self, stage: &Stage, workflow: &Workflow) -> StageShape {
        let who = match &stage.work {
            Work::Agent(work) => work.role.as_ref().map_or("agent", |role| role.name.as_str()).to_owned(),
            Work::Check => "check".to_owned(),
            Work::Action { action, .. } => action_name(action).to_owned(),
            Work::Human { .. } => "person".to_owned(),
        };
        let writes = matches!(&stage.work, Work::Agent(work) if work.mode == Mode::Implement);
        StageShape {
            name: self.word(stage.name.as_str()),
            who: self.word(&who),
            writes,
            gated: !stage.gates.is_empty(),
            repairs: repairs(workflow, stage),
        }
    }

    fn leg(&mut self, task: &Task, leg: &Leg, workflow: &Workflow, agents: &[Option<Word>]) -> Arc<LegShape> {
        let past = task.past.iter().find(|past| past.number == leg.id.number);
        let ending = past.map(|past: &Past| &past.ending);
        let (outcome, rejected_by) = match ending {
            Some(Ending::Passed { outcome }) => (Some(outcome.name.to_string()), Vec::new()),
            Some(Ending::Rejected { failures, .. }) => {
                let gates = failures.iter().map(|failure| self.word(failure.gate.as_str())).collect();
                (Some("rejected".to_owned()), gates)
            }
            Some(Ending::Conflict { .. }) => (Some("conflict".to_owned()), Vec::new()),
            Some(Ending::Failed { kind, .. }) => (Some(format!("failed: {kind}")), Vec::new()),
            Some(Ending::TimedOut { .. }) => (Some("timed out".to_owned()), Vec::new()),
            Some(Ending::Cancelled | Ending::Lost { .. } | Ending::Held { .. }) | None => (None, Vec::new()),
        };
        let at = workflow.stages.iter().position(|stage| stage.name == leg.entry.stage);
        let is_agent = at.is_some_and(|at| matches!(workflow.stages[at].work, Work::Agent(_)));
        let recheck = matches!(leg.entry.purpose, Purpose::Recheck { .. });
        let agent = at.filter(|_| is_agent && !recheck).and_then(|at| agents[at].clone());
        let (reason, subject) = purpose(&leg.entry);
        let shape = LegShape {
            stage: self.word(leg.entry.stage.as_str()),
            reason,
            subject: self.word(subject),
            state: leg.state,
            outcome: outcome.map(|name| self.word(&name)),
            rejected_by,
            agent,
            model: leg.usage.model.as_deref().map(|model| self.word(model)),
        };
        self.legs.get(shape)
    }
}

/// Returns a usage without the model's name; `None` if nothing was used.
pub(super) fn used(usage: &Usage) -> Option<Usage> {
    Some(Usage { model: None, ..usage.clone() }).filter(|usage| !usage.is_empty())
}

fn agent_of(stage: &Stage, definition: &Definition) -> Option<String> {
    match &stage.work {
        Work::Agent(work) => {
            work.agent.as_ref().or(definition.config.agent.as_ref()).map(ToString::to_string)
        }
        Work::Check | Work::Action { .. } | Work::Human { .. } => None,
    }
}

fn standing(state: &State) -> Standing {
    match state {
        State::New | State::Working { .. } => Standing::Working,
        State::Waiting { .. } => Standing::Needs,
        State::Blocked { .. } => Standing::Blocked,
        State::Ended { end: End::Done } => Standing::Done,
        State::Ended { end: End::Failed { .. } } => Standing::Failed,
        State::Ended { end: End::NoImprovement } => Standing::NoImprovement,
        State::Ended { end: End::Cancelled { .. } } => Standing::Cancelled,
    }
}

/// Returns why a leg runs, and the stage it counts for.
fn purpose(entry: &leg::Entry) -> (Reason, &str) {
    match &entry.purpose {
        Purpose::Work => (Reason::Work, entry.stage.as_str()),
        Purpose::Fix { of, .. } => (Reason::Fix, of.as_str()),
        Purpose::Recheck { .. } => (Reason::Recheck, entry.stage.as_str()),
        Purpose::Merge => (Reason::Merge, entry.stage.as_str()),
        Purpose::Resolve { of, .. } => (Reason::Resolve, purpose(of).1),
    }
}

/// Returns whether a stage only repairs the work of others.
pub fn repairs(workflow: &Workflow, stage: &Stage) -> bool {
    let fixes = workflow.stages.iter().any(|other| other.fix.as_ref() == Some(&stage.name));
    (fixes || workflow.conflict.as_ref() == Some(&stage.name)) && workflow.start != stage.name
}

fn action_name(action: &acquit_core::workflow::Action) -> &'static str {
    use acquit_core::workflow::Action;
    match action {
        Action::Squash => "squash",
        Action::Merge => "merge",
        Action::Publish(_) => "publish",
        Action::Notify(_) => "notify",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_held_once_and_dropped_when_no_task_has_it() {
        let mut held = Held::<str>::default();
        let kept = held.get("kept");
        assert!(Arc::ptr_eq(&kept, &held.get("kept")));
        for number in 0..10_000 {
            held.get(format!("{number}"));
        }
        assert!(Arc::ptr_eq(&kept, &held.get("kept")));
        assert!(held.known.len() <= 64, "{}", held.known.len());
    }
}
