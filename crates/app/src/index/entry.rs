//! What the index holds of each task: what lists and figures need, without agent output.

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

/// A text that many tasks share.
pub type Word = Arc<str>;

/// Texts and stages that tasks share.
#[derive(Default)]
pub(super) struct Words {
    texts: HashSet<Word>,
    shapes: HashSet<Arc<[StageShape]>>,
    legs: HashSet<Arc<LegShape>>,
}

/// A task in short.
#[derive(Clone, Debug)]
pub struct IndexedTask {
    /// Task id.
    pub id: TaskId,
    /// Title.
    pub title: String,
    /// Short name of the repository.
    pub project: Word,
    /// Path of the repository.
    pub place: Word,
    /// Workflow name.
    pub workflow: Word,
    /// The agent a person chose, or else that of the first stage with an agent.
    pub agent: Option<Word>,
    /// Tags for filtering.
    pub tags: Vec<Word>,
    /// Status.
    pub standing: Standing,
    /// Current stage.
    pub stage: Option<Word>,
    /// Stages of its workflow.
    pub stages: Arc<[StageShape]>,
    /// Legs.
    pub legs: Vec<IndexedLeg>,
    /// Number of requests it opened.
    pub requests: u32,
    /// Creation time.
    pub created: Timestamp,
    /// Start or end of its newest leg; the creation time before the first.
    pub updated: Timestamp,
    /// Cost limit of its agents, in millionths of a dollar.
    pub max_cost: Option<u64>,
}

/// Status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A leg is ready or running.
    Working,
    /// Waits for a person.
    Needs,
    /// Waits for another task.
    Blocked,
    /// Completed.
    Done,
    /// Failed.
    Failed,
    /// Found nothing to improve.
    NoImprovement,
    /// Cancelled by a person.
    Cancelled,
}

impl Standing {
    /// Returns whether the task has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::NoImprovement | Self::Cancelled)
    }
}

/// A stage of a workflow, with what drawings and figures need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StageShape {
    /// Name.
    pub name: Word,
    /// Who does it: a role, `agent`, `check`, `person`, or the name of an action.
    pub who: Word,
    /// Whether an agent writes the change here.
    pub writes: bool,
    /// Whether gates judge it.
    pub gated: bool,
    /// Whether it only repairs the work of other stages.
    pub repairs: bool,
}

/// A leg in short. Ten thousand tasks have fifty thousand legs but few different shapes, so legs share those.
#[derive(Clone, Debug)]
pub struct IndexedLeg {
    /// Leg number.
    pub number: u32,
    /// What it has in common with legs of other tasks.
    pub shape: Arc<LegShape>,
    /// What its agent used, without the model's name; `None` if nothing.
    pub usage: Option<Box<Usage>>,
    /// Earliest claim time.
    pub not_before: Timestamp,
    /// Claim time.
    pub started: Option<Timestamp>,
    /// End time.
    pub ended: Option<Timestamp>,
}

/// What a leg has in common with legs of other tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LegShape {
    /// Stage name.
    pub stage: Word,
    /// Why it runs.
    pub reason: Reason,
    /// The stage it counts for. For a fix, the rejected stage.
    pub subject: Word,
    /// State.
    pub state: leg::State,
    /// The outcome that counted, or `rejected`.
    pub outcome: Option<Word>,
    /// Gates that rejected it.
    pub rejected_by: Vec<Word>,
    /// Agent.
    pub agent: Option<Word>,
    /// Model.
    pub model: Option<Word>,
}

impl std::ops::Deref for IndexedLeg {
    type Target = LegShape;

    fn deref(&self) -> &LegShape {
        &self.shape
    }
}

/// Why a leg runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The stage's own work.
    Work,
    /// To fix what gates rejected.
    Fix,
    /// To run the gates again.
    Recheck,
    /// To merge.
    Merge,
    /// To resolve a conflict.
    Resolve,
}

impl IndexedLeg {
    /// Returns the cost in millionths of a dollar, if a price is known.
    pub fn cost(&self) -> Option<u64> {
        self.usage.as_ref().and_then(|usage| usage.paid())
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> u64 {
        self.usage.as_ref().map_or(0, |usage| usage.tokens())
    }

    /// Returns whether it has started and not ended.
    pub fn runs(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }

    /// Returns how long it ran; until `now` if it still runs.
    pub fn took(&self, now: Timestamp) -> Duration {
        self.started.map_or(Duration::ZERO, |started| self.ended.unwrap_or(now).since(started))
    }
}

impl IndexedTask {
    /// Returns the known cost of its legs.
    pub fn cost(&self) -> Option<u64> {
        self.legs.iter().filter_map(IndexedLeg::cost).reduce(u64::saturating_add)
    }

    /// Returns how long its legs ran.
    pub fn took(&self, now: Timestamp) -> Duration {
        self.legs.iter().map(|leg| leg.took(now)).sum()
    }
}

impl Words {
    fn word(&mut self, text: &str) -> Word {
        shared(&mut self.texts, text)
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
        let legs: Vec<IndexedLeg> = legs.iter().map(|leg| self.leg(task, leg, workflow, &agents)).collect();
        let shapes: Vec<StageShape> =
            workflow.stages.iter().map(|stage| self.shape(stage, workflow)).collect();
        let stages = shared(&mut self.shapes, shapes.as_slice());
        let moments = legs.iter().flat_map(|leg: &IndexedLeg| [leg.started, leg.ended]).flatten();
        let updated = moments.max().map_or(seed.created, |moment| moment.max(seed.created));
        IndexedTask {
            id: seed.id,
            title: seed.wish.title.clone(),
            project: self.word(&seed.project.name),
            place: self.word(&seed.project.path),
            workflow: self.word(seed.workflow.as_str()),
            agent: agents.into_iter().flatten().next(),
            tags: seed.wish.tags.iter().map(|tag| self.word(tag)).collect(),
            standing: standing(&task.state),
            stage: task.state.stage().map(|stage| self.word(stage.as_str())),
            stages,
            legs,
            requests: task.requests,
            created: seed.created,
            updated,
            max_cost: definition.chosen.max_cost.or(definition.config.max_cost),
        }
    }

    fn shape(&mut self, stage: &Stage, workflow: &Workflow) -> StageShape {
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

    fn leg(&mut self, task: &Task, leg: &Leg, workflow: &Workflow, agents: &[Option<Word>]) -> IndexedLeg {
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
        let shape = if let Some(known) = self.legs.get(&shape) {
            Arc::clone(known)
        } else {
            let new = Arc::new(shape);
            self.legs.insert(Arc::clone(&new));
            new
        };
        IndexedLeg {
            number: leg.id.number,
            shape,
            usage: used(&leg.usage),
            not_before: leg.not_before,
            started: leg.started,
            ended: leg.ended,
        }
    }
}

/// Returns a usage without the model's name; `None` if nothing was used.
pub(super) fn used(usage: &Usage) -> Option<Box<Usage>> {
    Some(Usage { model: None, ..usage.clone() }).filter(|usage| !usage.is_empty()).map(Box::new)
}

/// Returns the shared copy of a value.
fn shared<T>(known: &mut HashSet<Arc<T>>, value: &T) -> Arc<T>
where
    T: ?Sized + Hash + Eq,
    for<'a> Arc<T>: From<&'a T>,
{
    if let Some(found) = known.get(value) {
        return Arc::clone(found);
    }
    let new: Arc<T> = Arc::from(value);
    known.insert(Arc::clone(&new));
    new
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
