//! The configuration of a project: `.acquit/acquit.toml`.

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
pub use read::{REFERENCE, look, look_over, read, read_over, schema};
pub use stages::{Lack, Lacking, check_stages};
pub use waiting::{Patience, Waiting};

pub use crate::delivery::{Commit, CommitStyle, Committer, Sign};
pub use crate::publishing::{Otherwise, Publishing};
pub use crate::schedule::Hours;
pub use crate::shared_keys::is_model;

/// The checked configuration of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Default workflow of `acquit run`.
    pub workflow: Option<Name>,
    /// Agent for stages that don't name one.
    pub agent: Option<Name>,
    /// Branch that tasks start from, if configured.
    pub base: Option<String>,
    /// Prefix of task branches.
    pub branch_prefix: String,
    /// How to install dependencies in a new workspace.
    pub setup: Option<Setup>,
    /// Agents that stages can name.
    pub agents: BTreeMap<Name, Agent>,
    /// Template variables of the project.
    pub variables: BTreeMap<String, String>,
    /// Overrides for workflows, by workflow name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<Name, Adjusted>,
    /// How much of the sandbox the machine must provide.
    #[serde(default)]
    pub sandbox: Mode,
    /// Additional path access for programs of a leg.
    #[serde(default)]
    pub access: Access,
    /// Network access of these programs.
    #[serde(default)]
    pub network: Networks,
    /// Resource limits of these programs.
    #[serde(default)]
    pub resources: Resources,
    /// Branches that tasks must not move or check out, in addition to the base.
    #[serde(default)]
    pub protected: Vec<String>,
    /// Secrets that stages and agents can name, keyed by the environment variable that carries them.
    #[serde(default)]
    pub secrets: BTreeMap<String, secret::Source>,
    /// Maximum cost of a task's agents, in millionths of a dollar; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// Maximum number of legs that run at the same time, on all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// What to do while the model's provider accepts no work.
    #[serde(default)]
    pub waiting: Waiting,
    /// The project's aliases for models.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// The project's prices, which override the built-in list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: Prices,
    /// How to write delivered commits.
    #[serde(default)]
    pub commit: Commit,
    /// Settings of the merge queue.
    #[serde(default)]
    pub merge: Merge,
    /// Gates of this repository. Stages of every workflow can name them one by one, or all of them as `project`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Default budgets for all workflows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<Name, u32>,
    /// Forge and pull request settings.
    #[serde(default)]
    pub forge: Forge,
    /// Folders whose repositories the user trusts. Only the user's own file can set this.
    #[serde(skip)]
    pub trusted_paths: Vec<String>,
    /// Hosts that a worker fetches repositories from. Only the user's own file can set this.
    #[serde(skip)]
    pub fetch_from: Vec<String>,
    /// Safety settings that the user's own file states explicitly. The other fields already respect them.
    #[serde(skip)]
    pub floor: Floor,
    /// Schedules. Not stored with tasks, because tasks don't depend on them.
    #[serde(skip)]
    pub schedules: Vec<Schedule>,
    /// Notification settings. Not stored with tasks either.
    #[serde(skip)]
    pub notices: notify::Notices,
    /// How long to keep workspaces. Not stored with tasks either.
    #[serde(skip)]
    pub retention: Retention,
    /// Gates, setup, channels, reports and schedules as files write them, merged by key. Schedules are keyed by name.
    #[serde(skip)]
    pub written: Written,
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
            at_once: None,
            waiting: Waiting::default(),
            models: BTreeMap::new(),
            prices: Prices::new(),
            commit: Commit::default(),
            merge: Merge::default(),
            gates: Vec::new(),
            budgets: BTreeMap::new(),
            forge: Forge::default(),
            trusted_paths: Vec::new(),
            fetch_from: Vec::new(),
            floor: Floor::default(),
            schedules: Vec::new(),
            notices: notify::Notices::default(),
            retention: Retention::default(),
            written: Written::default(),
        }
    }
}

/// Sections as files write them. Only listings show them: two configurations with the same settings are equal, however they
/// are written.
#[derive(Clone, Debug, Default)]
pub struct Written(pub toml::Table);

impl PartialEq for Written {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Config {
    /// Resolves a model alias; returns other names unchanged.
    pub fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.models.get(name).map_or(name, String::as_str)
    }

    /// Returns whether an agent is configured or named.
    pub fn has_agent(&self) -> bool {
        self.agent.is_some() || !self.agents.is_empty()
    }
}

/// A command to run in a workspace before its first agent, and again only when a lock file changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Command to run.
    pub run: Command,
    /// Command that compiles what gates would compile each time. Runs after `run`, without network, and only on the base: its
    /// results are never those of an agent's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<Command>,
    /// Files whose contents decide whether it runs again.
    pub lock_files: Vec<String>,
    /// Maximum run time.
    pub timeout: Span,
    /// Environment variables, in addition to the short common list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Untracked files to copy from the user's checkout into the workspace before the command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<Copied>,
}

/// A file that setup copies from the user's checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Path in the checkout.
    pub from: String,
    /// Path in the workspace.
    pub to: String,
}

/// An agent: a program that acquit can drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// How to drive it.
    pub adapter: Adapter,
    /// Environment variables, in addition to the short common list.
    pub env: BTreeMap<String, String>,
    /// Environment variables to pass through from acquit's environment.
    pub pass_env: Vec<String>,
    /// Names of the secrets it gets at every stage, such as the API key of its model.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Hosts of its model.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Login files it can read, such as `~/.agent/credentials.json`.
    #[serde(default)]
    pub login: Vec<String>,
    /// Program that the adapter starts instead of the usual one: a path, or a name to look up in `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Arguments after those of the adapter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Model name, or an alias of `[models]`; `None` leaves the choice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Model names or aliases for the tiers of agent definitions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<Tier, String>,
    /// Maximum number of model turns in a leg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Who pays; `None` accepts what the agent finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<Billing>,
    /// Name of the provider account that it uses. Agents with the same account wait together for its usage limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Maximum number of its legs that run at the same time, on all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// Preferred way to report the outcome. The file and the last message always work as well.
    #[serde(default)]
    pub report: Reporting,
}

impl Agent {
    /// Returns the model for a stage's work, most specific first: the model of the stage or its role, the agent's model
    /// for the role's tier, the agent's default.
    pub fn model_for(&self, work: &crate::workflow::AgentWork) -> Option<String> {
        let tier = work.role.as_ref().and_then(|role| role.tier);
        let by_tier = || self.tiers.get(&tier?).cloned();
        work.model.clone().or_else(by_tier).or_else(|| self.model.clone())
    }
}

/// How an agent is asked to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reporting {
    /// With acquit's own tools, if the agent supports tools. It learns of a mistake while it can still fix it.
    #[default]
    Tools,
    /// As structured output.
    Structured,
    /// In the handoff file or the last message.
    File,
}

impl Reporting {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("tools", Self::Tools), ("structured", Self::Structured), ("file", Self::File)];
}

/// Who pays for an agent's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Billing {
    /// The agent's own login, usually a subscription.
    Login,
    /// An API key, billed by usage.
    Key,
}

impl Billing {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("login", Self::Login), ("key", Self::Key)];
}

/// How to drive an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "adapter", rename_all = "snake_case")]
pub enum Adapter {
    /// Any program: prompt on stdin, text on stdout.
    Command {
        /// Program and arguments.
        run: Command,
    },
    /// Any program that speaks the Agent Client Protocol.
    Acp {
        /// Program and arguments.
        run: Command,
    },
    /// Replays a script, for the demo, for tests, and for trying a workflow without a model.
    Scripted {
        /// Path of the script, relative to `.acquit/` in the file and absolute once read.
        script: String,
    },
    /// A coding agent that acquit knows: how to start it, and its output format.
    Product {
        /// The coding agent.
        product: Product,
    },
}

impl Adapter {
    /// Returns the name of the adapter in configuration and listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Acp { .. } => "acp",
            Self::Scripted { .. } => "scripted",
            Self::Product { product } => product.name(),
        }
    }
}

/// Defines the enum of coding agents with their names and the list of all.
macro_rules! products {
    ($($(#[$doc:meta])* $product:ident = $name:literal,)+) => {
        /// The coding agents that acquit knows. The file of the same name in `acquit-run`'s `agent` has the details of
        /// each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Product {
            $($(#[$doc])* $product,)+
        }

        impl Product {
            /// All coding agents in listing order.
            pub const ALL: &[Self] = &[$(Self::$product,)+];

            /// Returns the name in configuration and listings.
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
