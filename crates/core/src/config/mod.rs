//! A project's configuration: `.acquit/acquit.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::gate::Gate;
use crate::ids::Name;
use crate::price::Prices;
use crate::retention::Retention;
use crate::role::Tier;
use crate::sandbox::{Access, Host, Mode, Networks, Resources};
use crate::schedule::Schedule;
use crate::secret;
use crate::time::Span;

mod adjusted;
pub mod channel;
mod floor;
pub mod forge;
mod merge;
pub mod notify;
mod read;
mod stages;
mod waiting;

pub use adjusted::Adjusted;
pub use floor::Floor;
pub use forge::Forge;
pub use merge::{By, Merge, Method};
pub use read::{REFERENCE, look_over, read, read_over, schema};
pub use stages::{Lack, Lacking, check_stages};
pub use waiting::{Patience, Waiting};

pub use crate::delivery::{Commit, CommitStyle, Committer, Sign};
pub use crate::publishing::{Otherwise, Publishing};
pub use crate::schedule::Hours;
pub use crate::shared_keys::is_model;

/// The checked configuration of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The workflow that `acquit run` takes when none is named.
    pub workflow: Option<Name>,
    /// The agent that takes the stages which name none.
    pub agent: Option<Name>,
    /// The branch that tasks start from; `None` for the one that is checked out.
    pub base: Option<String>,
    /// What task branches begin with.
    pub branch_prefix: String,
    /// How dependencies get into a fresh workspace.
    pub setup: Option<Setup>,
    /// The agents that stages can name.
    pub agents: BTreeMap<Name, Agent>,
    /// The project's own variables for templates.
    pub variables: BTreeMap<String, String>,
    /// What the project wants otherwise in a workflow, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<Name, Adjusted>,
    /// How much of the sandbox the machine must have.
    #[serde(default)]
    pub sandbox: Mode,
    /// Paths that programs of a leg reach, or not, beside the usual ones.
    #[serde(default)]
    pub access: Access,
    /// Whom they may talk to.
    #[serde(default)]
    pub network: Networks,
    /// What they may use up.
    #[serde(default)]
    pub resources: Resources,
    /// Branches that no work may move or check out, beside the base.
    #[serde(default)]
    pub protected: Vec<String>,
    /// Secrets that stages and agents can name; the name is that of the variable in which they get it.
    #[serde(default)]
    pub secrets: BTreeMap<String, secret::Source>,
    /// What the agents of one task may cost, in millionths of a dollar; `None` for any amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// What is done while the model's provider accepts no work.
    #[serde(default)]
    pub waiting: Waiting,
    /// Names of the project's own for models.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// Prices of the project's own, before those of our list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: Prices,
    /// How delivered commits are written.
    #[serde(default)]
    pub commit: Commit,
    /// How the merge queue works.
    #[serde(default)]
    pub merge: Merge,
    /// How this repository is proven: gates that stages of every workflow can name, one by one or together as `project`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Budgets of every workflow that says nothing else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<Name, u32>,
    /// Where requests are made, and what they have.
    #[serde(default)]
    pub forge: Forge,
    /// The folders whose repositories the user trusts. Only the user's own file says so.
    #[serde(skip)]
    pub trusted_paths: Vec<String>,
    /// What the user's own file says outright about safety. Everything else is held to it already.
    #[serde(skip)]
    pub floor: Floor,
    /// What is begun by the clock. Not stored with tasks: it is no part of what they run by.
    #[serde(skip)]
    pub schedules: Vec<Schedule>,
    /// Whom to tell. Not stored with tasks either.
    #[serde(skip)]
    pub notices: notify::Notices,
    /// How long workspaces are kept. Not stored with tasks either.
    #[serde(skip)]
    pub retention: Retention,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workflow: None,
            agent: None,
            base: None,
            branch_prefix: "acquit/".to_owned(),
            setup: None,
            agents: BTreeMap::new(),
            variables: BTreeMap::new(),
            workflows: BTreeMap::new(),
            sandbox: Mode::default(),
            access: Access::default(),
            network: Networks::default(),
            resources: Resources::default(),
            protected: Vec::new(),
            secrets: BTreeMap::new(),
            max_cost: None,
            waiting: Waiting::default(),
            models: BTreeMap::new(),
            prices: Prices::new(),
            commit: Commit::default(),
            merge: Merge::default(),
            gates: Vec::new(),
            budgets: BTreeMap::new(),
            forge: Forge::default(),
            trusted_paths: Vec::new(),
            floor: Floor::default(),
            schedules: Vec::new(),
            notices: notify::Notices::default(),
            retention: Retention::default(),
        }
    }
}

impl Config {
    /// The model that is meant: what an alias stands for, or the name itself.
    pub fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.models.get(name).map_or(name, String::as_str)
    }
}

/// A command that is run in a workspace before its first agent, and again only when a lock file changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// What is run.
    pub run: Command,
    /// Files whose contents decide whether it must run again.
    pub lock_files: Vec<String>,
    /// How long it may take.
    pub timeout: Span,
    /// Variables that it gets beside the short common list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Files of the user's checkout that git does not track and that the workspace gets before the command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<Copied>,
}

/// A file that setup copies from the user's checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Where it is in the checkout.
    pub from: String,
    /// Where it goes in the workspace.
    pub to: String,
}

/// An agent: a program that acquit knows how to talk to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// How it is talked to.
    pub adapter: Adapter,
    /// Variables that it gets beside the short common list, by value.
    pub env: BTreeMap<String, String>,
    /// Variables that it gets from the environment of acquit, by name.
    pub pass_env: Vec<String>,
    /// Secrets that it gets at every stage, by name: the key of its model.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// The hosts of its model.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Files of its own login, which it can read: `~/.agent/credentials.json`.
    #[serde(default)]
    pub login: Vec<String>,
    /// What its adapter starts instead of the usual program: a path, or a name to look for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Arguments after those of the adapter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The model, or an alias of `[models]`; `None` leaves it to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models, or aliases, that it takes for each tier of agent definitions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<Tier, String>,
    /// How often it may ask its model in one leg, where the agent can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Who pays; `None` for whatever the agent finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<Billing>,
    /// How it reports its outcome first of all; files and words are always there beside it.
    #[serde(default)]
    pub report: Reporting,
}

impl Agent {
    /// The model for a stage's work, from the most particular to the most general: what the stage or its role names, what this
    /// agent takes for the role's tier, what it takes otherwise.
    pub fn model_for(&self, work: &crate::workflow::AgentWork) -> Option<String> {
        let tier = work.role.as_ref().and_then(|role| role.tier);
        let by_tier = || self.tiers.get(&tier?).cloned();
        work.model.clone().or_else(by_tier).or_else(|| self.model.clone())
    }
}

/// The ways in which an agent is asked to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reporting {
    /// With acquit's own tools, where the agent takes some: it hears of a mistake while it can mend it.
    #[default]
    Tools,
    /// As its structured output.
    Structured,
    /// By the handoff file, or in its last words.
    File,
}

impl Reporting {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("tools", Self::Tools), ("structured", Self::Structured), ("file", Self::File)];
}

/// Which identity pays for an agent's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Billing {
    /// The agent's own login: a subscription, as a rule.
    Login,
    /// A key of the provider, by use.
    Key,
}

impl Billing {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("login", Self::Login), ("key", Self::Key)];
}

/// The ways to talk to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "adapter", rename_all = "snake_case")]
pub enum Adapter {
    /// Any program: the prompt on its standard input, text on its standard output.
    Command {
        /// The program and its arguments.
        run: Command,
    },
    /// Any program that speaks the Agent Client Protocol.
    Acp {
        /// The program and its arguments.
        run: Command,
    },
    /// Replays a script: for the demo, for tests, and for trying a workflow without a model.
    Scripted {
        /// The script's path, relative to `.acquit/`, made absolute when it was read.
        script: String,
    },
    /// A coding agent that acquit knows: how it is started, and the language of its output.
    Product {
        /// Which.
        product: Product,
    },
}

impl Adapter {
    /// Its name in configuration and listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Acp { .. } => "acp",
            Self::Scripted { .. } => "scripted",
            Self::Product { product } => product.name(),
        }
    }
}

/// Makes the enum of coding agents, their names, and the list of all.
macro_rules! products {
    ($($(#[$doc:meta])* $product:ident = $name:literal,)+) => {
        /// The coding agents that acquit knows. What it knows of each is in the file of that name in `acquit-run`'s `agent`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Product {
            $($(#[$doc])* $product,)+
        }

        impl Product {
            /// All of them, in the order in which they are listed.
            pub const ALL: &[Self] = &[$(Self::$product,)+];

            /// Its name in configuration and listings.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$product => $name,)+
                }
            }
        }
    };
}

products! {
    /// Claude Code.
    Claude = "claude",
    /// Codex.
    Codex = "codex",
    /// Gemini CLI.
    Gemini = "gemini",
    /// opencode.
    Opencode = "opencode",
    /// Cursor's agent.
    Cursor = "cursor",
    /// Aider.
    Aider = "aider",
    /// pi.
    Pi = "pi",
}
