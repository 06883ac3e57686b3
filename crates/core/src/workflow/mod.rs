//! A workflow: a declarative state machine of stages, read from TOML, checked as a whole, and from then on known to be
//! sound: every name resolves, every stage can be reached, every cycle spends a budget.

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
    /// Its name: the file's name without `.toml`.
    pub name: Name,
    /// One line for listings.
    pub description: String,
    /// The stage that a task begins with.
    pub start: Name,
    /// The stages in the order in which they are written.
    pub stages: Vec<Stage>,
    /// The gates that stages name.
    pub gates: Vec<Gate>,
    /// How often each kind of failure (or named loop) may happen, defaults included.
    pub budgets: BTreeMap<Name, u32>,
    /// A list of values to try one after another.
    pub variation: Option<Variation>,
    /// The workflow's own variables for templates.
    pub variables: BTreeMap<String, String>,
    /// The stage that brings the work together with a base branch that has moved. Without one a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Name>,
    /// What the branches of its tasks begin with; `None` for what the project says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_prefix: Option<String>,
}

impl Workflow {
    /// The stage of that name. Every name that a checked workflow mentions has one.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == *name)
    }

    /// The gate of that name.
    pub fn gate(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.name == *name)
    }
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: Name,
    /// What happens in it.
    pub work: Work,
    /// The gates that its work must stand.
    pub gates: Vec<Name>,
    /// When enough of them have spoken.
    #[serde(default)]
    pub stop: Stop,
    /// What a gate of severity `warning` that fails means here.
    #[serde(default)]
    pub warnings: Warnings,
    /// The stage that mends what a gate rejects. Without one the stage itself is tried again.
    pub fix: Option<Name>,
    /// Where each outcome leads.
    pub on: BTreeMap<Name, Transition>,
    /// Limits on the time and output of a leg.
    pub limits: Limits,
    /// Whether a person must agree before the task leaves this stage, or before it begins.
    pub consent: Consent,
    /// Which commit a turn of it begins from.
    #[serde(default)]
    pub from: Begin,
    /// The labels that a worker must have to take its legs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_on: Vec<String>,
}

/// Which commit a stage's own work begins from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// What the leg before it left.
    #[default]
    Work,
    /// The task's base: each try begins with a clean tree. What earlier ones left is kept aside.
    Base,
}

/// When enough gates have spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// When all have: whoever mends hears of everything at once.
    #[default]
    AtEnd,
    /// When one rejects the work.
    AtFirst,
}

/// What a warning of a gate means at a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warnings {
    /// It is shown.
    #[default]
    Shown,
    /// It rejects the work, as an error does.
    Reject,
}

/// When a stage needs a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Never.
    NotNeeded,
    /// Before the task moves on from it.
    AfterIt,
    /// Before it begins, because what it does cannot be undone.
    BeforeIt,
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a workflow has a few dozen stages, and most of them are this variant"
)]
pub enum Work {
    /// An agent takes a turn.
    Agent(AgentWork),
    /// Gates only, no model. Ends `passed`, or is rejected.
    Check,
    /// Code of acquit's own, no model. Ends `done`.
    Action {
        /// Which.
        action: Action,
        /// How many commits the work becomes.
        #[serde(default)]
        commits: Commits,
    },
    /// A person answers. Ends with the answer: `approved`, `rejected`, or one of the stage's outcomes.
    Human {
        /// What the person is asked.
        question: String,
    },
}

/// An agent's part in a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentWork {
    /// What kind of turn it is.
    pub mode: Mode,
    /// The agent of the configuration that takes it; `None` for the project's default.
    pub agent: Option<Name>,
    /// The model, or an alias of the project's, before what the agent's own configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who takes it: an agent definition, as it was when the task was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Box<Role>>,
    /// The stage's step file, with all that it includes.
    #[serde(default, skip_serializing_if = "Template::is_empty")]
    pub step: Template,
    /// What the workflow tells the agent beyond the mode's own instructions.
    pub instructions: Template,
    /// Which files of its output folder are kept.
    pub outputs: Vec<String>,
    /// The files of earlier stages that it needs, by name; all of them if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// What it may use here, before what its definition says; `None` for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The only commands that it may run, as it is told; any if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Secrets of the configuration that the agent gets here, by name.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Whom it may talk to; `None` for what the project says of agents.
    #[serde(default)]
    pub network: Option<Network>,
    /// Whether it goes on with the conversation of an earlier leg.
    #[serde(default)]
    pub session: Continue,
    /// What follows when it tries what acquit refuses.
    #[serde(default)]
    pub refused: Refused,
}

/// What follows when an agent tries what acquit refuses: to push, to fetch, to check out or move a protected branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// It is told why, and goes on.
    #[default]
    Told,
    /// Its leg ends at once.
    Halts,
}

impl AgentWork {
    /// What the agent may use; `None` for everything.
    pub fn tools(&self) -> Option<&[Tool]> {
        self.tools.as_deref().or_else(|| self.role.as_ref()?.tools.as_deref())
    }
}

/// Whether an agent goes on with an earlier conversation, where it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continue {
    /// With that of the last try at the same stage, or of the stage that is to be mended: what it has read is not paid twice.
    #[default]
    Earlier,
    /// Never, but after an interruption: each try sees the work with new eyes.
    Fresh,
}

/// What acquit can do by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Make one commit of the task's work and bring it to the user's repository as a branch.
    Squash,
    /// The same, and then bring it into the base branch, in turn with others.
    Merge,
    /// Push that commit and make a request of it at the forge, or bring the one that is there up to date.
    Publish(Box<Publishing>),
    /// Send a message to people.
    Notify(Box<Notify>),
}

/// A message that a stage sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    /// What it says.
    pub message: Template,
    /// The channels that it is sent to, by name; all of the project's if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Name>,
}

/// How many commits a task's work becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commits {
    /// One.
    #[default]
    One,
    /// One for each stage of an agent that changed something.
    Phases,
}

/// Where an outcome leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// Exactly one is taken by itself; none or several ask a person.
    pub to: Vec<Target>,
    /// A budget that taking it spends.
    pub budget: Option<Name>,
    /// What the outcome's payload must look like, as a JSON Schema.
    pub schema: Option<serde_json::Value>,
    /// What the outcome means, for the agent that may choose it.
    pub description: Option<String>,
}

/// A place to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Another stage.
    Stage(Name),
    /// The task is done.
    Done,
    /// The task has failed.
    Failed,
    /// A person says how to go on.
    Person,
    /// From a fix: the gates of the stage that was rejected are run again.
    Back,
    /// Start again with the variation's next value.
    NextVariation,
}

impl Target {
    /// The words that are not stages, and what they mean.
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

/// Limits on a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long the agent may run.
    pub time: Span,
    /// How long it may be silent; `None` for as long as it likes.
    pub idle: Option<Span>,
    /// How many bytes it may print.
    pub output: u64,
    /// How often it may ask its model in one leg; `None` for what its configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// What its turns at this stage may cost, in millionths of a dollar; `None` for any amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

impl Default for Limits {
    /// Half an hour is longer than most turns take and short enough to lose; a quarter of a gigabyte is far more than
    /// any agent prints that is not in a loop.
    fn default() -> Self {
        Self { time: Span::mins(30), idle: None, output: 256 * 1024 * 1024, turns: None, cost: None }
    }
}
