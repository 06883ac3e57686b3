//! Properties that indexed tasks and legs share with others, so that each combination is stored once.

use std::sync::Arc;

use acquit_core::leg;

/// A text that many tasks share.
pub type Word = Arc<str>;

/// Properties that a task shares with other tasks. Ten thousand tasks have few different shapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskShape {
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
    /// Cost limit of its agents, in millionths of a dollar.
    pub max_cost: Option<u64>,
}

/// Status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Properties that a leg shares with legs of other tasks.
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
