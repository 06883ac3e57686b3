//! A workflow: a declarative state machine of stages. It is read from TOML and checked as a whole. A checked workflow
//! is sound: every name resolves, every stage is reachable, and every cycle spends a budget.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::Gate;
use crate::ids::Name;
use crate::publishing::Publishing;
use crate::role::{Role, Tool};
use crate::sandbox::Network;
use crate::template::Template;
use crate::time::Span;

mod check;
mod disabled;
mod draft;
mod flow;
mod gates;
mod graph;
mod mode;
pub mod outcomes;
mod read;
mod stage;

pub use crate::mode::Mode;
pub use crate::template::Variation;
pub(crate) use gates::{budgets, gate, refuse_project};
pub use graph::mermaid;
pub(crate) use read::variables;
pub use read::{Around, REFERENCE, read, read_in, schema};

/// A checked workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// Workflow name: the file name without `.toml`.
    pub name: Name,
    /// One line for listings.
    pub description: String,
    /// First stage of a task.
    pub start: Name,
    /// Stages in file order.
    pub stages: Vec<Stage>,
    /// Gates that stages refer to.
    pub gates: Vec<Gate>,
    /// Limit for each kind of failure or named loop, including defaults.
    pub budgets: BTreeMap<Name, u32>,
    /// Values to try in sequence.
    pub variation: Option<Variation>,
    /// Template variables of the workflow.
    pub variables: BTreeMap<String, String>,
    /// Stage that resolves conflicts with a base branch that has moved. Without one, a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Name>,
    /// Prefix of task branches; `None` uses the project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_prefix: Option<String>,
    /// Maximum number of its legs that run at the same time in a project, on all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

impl Workflow {
    /// Returns a stage by name. Every stage name in a checked workflow exists.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == *name)
    }

    /// Returns a gate by name.
    pub fn gate(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.name == *name)
    }
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Stage name.
    pub name: Name,
    /// Work of the stage.
    pub work: Work,
    /// Gates that its work must pass.
    pub gates: Vec<Name>,
    /// When to stop running gates.
    #[serde(default)]
    pub stop: Stop,
    /// How to treat failures of gates with severity `warning`.
    #[serde(default)]
    pub warnings: Warnings,
    /// Stage that fixes work which a gate rejects. Without one, the stage itself is retried.
    pub fix: Option<Name>,
    /// Transition for each outcome.
    pub on: BTreeMap<Name, Transition>,
    /// Time, output and cost limits of a leg.
    pub limits: Limits,
    /// Whether the stage needs approval, and when.
    pub consent: Consent,
    /// Commit that its legs start from.
    #[serde(default)]
    pub from: Begin,
    /// Labels that a worker needs to run its legs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_on: Vec<String>,
}

/// The commit that a stage's own work starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// The result of the previous leg.
    #[default]
    Work,
    /// The task's base: every attempt starts with a clean tree. Earlier attempts are kept aside.
    Base,
}

/// When to stop running gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After all have run, so that a fix sees every failure at once.
    #[default]
    AtEnd,
    /// After the first rejection.
    AtFirst,
}

/// How a stage treats a gate's warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warnings {
    /// Show it.
    #[default]
    Shown,
    /// Reject the work, as for an error.
    Reject,
}

/// When a stage needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Never.
    NotNeeded,
    /// Before the task leaves the stage.
    AfterIt,
    /// Before the stage starts, because it cannot be undone.
    BeforeIt,
}

/// The work of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a workflow has a few dozen stages, and most of them are this variant"
)]
pub enum Work {
    /// Runs an agent.
    Agent(AgentWork),
    /// Runs only gates, no model. Ends with `passed` or is rejected.
    Check,
    /// Runs a built-in action, no model. Ends with `done`.
    Action {
        /// The action.
        action: Action,
        /// How many commits to make of the work.
        #[serde(default)]
        commits: Commits,
    },
    /// Asks a person. Ends with the answer: `approved`, `rejected`, or one of the stage's outcomes.
    Human {
        /// The question.
        question: String,
    },
}

/// The settings of an agent stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentWork {
    /// Kind of work.
    pub mode: Mode,
    /// Agent name; `None` uses the project's default.
    pub agent: Option<Name>,
    /// Model name or alias. It overrides the agent's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Agent definition, pinned when the task was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Box<Role>>,
    /// The stage's step file, with its includes.
    #[serde(default, skip_serializing_if = "Template::is_empty")]
    pub step: Template,
    /// Instructions of the workflow, in addition to those of the mode.
    pub instructions: Template,
    /// Patterns of files to keep from the output folder.
    pub outputs: Vec<String>,
    /// Names of files it needs from earlier stages; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Tools it may use; overrides those of its definition. `None` uses the definition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Commands it may run, stated in the prompt; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Names of the secrets the agent gets at this stage.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Network access; `None` uses the project's setting for agents.
    #[serde(default)]
    pub network: Option<Network>,
    /// Whether to continue the conversation of an earlier leg.
    #[serde(default)]
    pub session: Continue,
    /// What to do when the agent tries something that acquit refuses.
    #[serde(default)]
    pub refused: Refused,
}

/// What to do when an agent tries something that acquit refuses: to push, to check out or move a protected branch, to
/// fetch, or to run a command that its stage does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// Tell the agent why, and let it continue.
    Told,
    /// End the leg at once if it tries to push, or to check out or move a protected branch. Tell it why else.
    #[default]
    Guarded,
    /// End the leg at once.
    Halts,
}

impl AgentWork {
    /// Returns the tools the agent may use; `None` means all.
    pub fn tools(&self) -> Option<&[Tool]> {
        self.tools.as_deref().or_else(|| self.role.as_ref()?.tools.as_deref())
    }
}

/// Whether an agent continues an earlier conversation, if it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continue {
    /// Continue that of the last attempt at the same stage, or of the stage to fix. The tokens that the agent has read
    /// are not paid for twice.
    #[default]
    Earlier,
    /// Never continue, except after an interruption: every attempt looks at the work afresh.
    Fresh,
}

/// The built-in actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Squash the task's work into one commit and deliver it to the user's repository as a branch.
    Squash,
    /// Squash, then merge into the base branch through the merge queue.
    Merge,
    /// Push the commit and open a pull request, or update the existing one.
    Publish(Box<Publishing>),
    /// Send a notification.
    Notify(Box<Notify>),
}

/// A notification that a stage sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    /// Message text.
    pub message: Template,
    /// Channel names; empty means all channels of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Name>,
}

/// How many commits to make of a task's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commits {
    /// One commit.
    #[default]
    One,
    /// One commit per agent stage that changed something.
    Phases,
}

/// Where an outcome leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// With exactly one target, the task goes there. With none or several, a person decides.
    pub to: Vec<Target>,
    /// Budget that the transition spends.
    pub budget: Option<Name>,
    /// JSON Schema of the outcome's payload.
    pub schema: Option<serde_json::Value>,
    /// Meaning of the outcome, shown to the agent that may choose it.
    pub description: Option<String>,
}

/// The target of a transition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Go to another stage.
    Stage(Name),
    /// End the task as done.
    Done,
    /// End the task as failed.
    Failed,
    /// Ask a person how to continue.
    Person,
    /// After a fix, run the gates of the rejected stage again.
    Back,
    /// Start again with the next value of the variation.
    NextVariation,
}

impl Target {
    /// The reserved words for targets that are not stages.
    pub const WORDS: [(&str, Self); 5] = [
        ("done", Self::Done),
        ("failed", Self::Failed),
        ("person", Self::Person),
        ("back", Self::Back),
        ("next-variation", Self::NextVariation),
    ];
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stage(name) => f.pad(name.as_str()),
            other => f.pad(Self::WORDS.iter().find(|(_, word)| word == other).map_or("", |(text, _)| text)),
        }
    }
}

/// Limits of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum run time of the agent.
    pub time: Span,
    /// Maximum time without output; `None` means no limit.
    pub idle: Option<Span>,
    /// Maximum output in bytes.
    pub output: u64,
    /// Maximum number of model turns in a leg; `None` uses the agent's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Maximum cost of the agent's legs at this stage, in millionths of a dollar; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

impl Default for Limits {
    /// Thirty minutes is longer than most turns take, and little enough to lose. 256 MiB is far more than any agent
    /// prints unless it is in a loop.
    fn default() -> Self {
        Self { time: Span::mins(30), idle: None, output: 256 * 1024 * 1024, turns: None, cost: None }
    }
}
