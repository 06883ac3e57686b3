//! Several machines on one store: what a leg needs from its machine, what workers offer, and which data travels between
//! them.
//!
//! A leg's needs are a list of words, and so are a worker's offers: a worker takes a leg if it offers everything that
//! the leg needs. A task's needs follow from its definition alone, so the store can compare the two in the statement
//! that claims.

mod pool;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::{Adapter, Config};
use crate::definition::Definition;
use crate::ids::{BadId, LegId, Name, TaskId};
use crate::leg::Hold;
use crate::time::Timestamp;
use crate::workflow::{AgentWork, Stage, Work};

pub use pool::{Full, Pool, Share, account_of, pools};

/// Something that a leg needs from its machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Need {
    /// A label that its stage requires.
    Label(String),
    /// Program of its agent: the name of a product, a path, or a name to look up.
    Agent(String),
    /// Name of a secret.
    Secret(String),
    /// Key of a repository.
    Repository(String),
    /// The machine that created the task, and why.
    Home(String),
}

impl Need {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Label(text) => ("label", text),
            Self::Agent(text) => ("agent", text),
            Self::Secret(text) => ("secret", text),
            Self::Repository(text) => ("repository", text),
            Self::Home(text) => ("home", text),
        }
    }

    /// Describes the need, to follow the word "needs".
    pub fn words(&self) -> String {
        match self {
            Self::Label(label) => format!("the label `{label}`"),
            Self::Agent(agent) => format!("the agent `{agent}`"),
            Self::Secret(secret) => format!("the secret `{secret}`"),
            Self::Repository(repository) => format!("the repository {repository}"),
            Self::Home(why) => format!("the machine that the task was made on: {why}"),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = self.parts();
        write!(f, "{kind}:{text}")
    }
}

impl From<Need> for String {
    fn from(need: Need) -> Self {
        need.to_string()
    }
}

impl TryFrom<String> for Need {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl FromStr for Need {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let make: fn(String) -> Self = match kind {
            "label" => Self::Label,
            "agent" => Self::Agent,
            "secret" => Self::Secret,
            "repository" => Self::Repository,
            "home" => Self::Home,
            _ => return Err(BadId { text: text.to_owned(), form: "a need such as label:gpu" }),
        };
        Ok(make(rest.to_owned()))
    }
}

/// Returns the needs of legs by stage.
pub fn needs(definition: &Definition) -> BTreeMap<Name, Vec<Need>> {
    let of = |stage: &Stage| (stage.name.clone(), stage_needs(definition, stage));
    definition.workflow.stages.iter().map(of).collect()
}

fn stage_needs(definition: &Definition, stage: &Stage) -> Vec<Need> {
    let travel = &definition.travel;
    let mut needs: Vec<Need> = stage.runs_on.iter().cloned().map(Need::Label).collect();
    match (&stage.work, &travel.stays) {
        (Work::Action { .. }, _) => {
            needs.push(Need::Home("its repository is where work is delivered".to_owned()));
        }
        (_, Some(why)) => needs.push(Need::Home(why.clone())),
        (_, None) => {}
    }
    needs.extend(travel.repository.iter().cloned().map(Need::Repository));
    if let Work::Agent(work) = &stage.work {
        needs.extend(agent_needs(&definition.config, work));
    }
    needs.sort();
    needs.dedup();
    needs
}

fn agent_needs(config: &Config, work: &AgentWork) -> Vec<Need> {
    let name = work.agent.as_ref().or(config.agent.as_ref());
    let Some(agent) = name.and_then(|name| config.agents.get(name)) else { return Vec::new() };
    let usual = match &agent.adapter {
        Adapter::Product { product } => Some(product.name().to_owned()),
        Adapter::Scripted { script } => Some(script.clone()),
        Adapter::Command { run } | Adapter::Acp { run } => run.program().map(str::to_owned),
    };
    // A relative path is in the repository.
    let elsewhere = |program: &String| program.starts_with('/') || !program.contains('/');
    let program = agent.program.clone().or(usual).filter(elsewhere);
    let secrets = agent.secrets.iter().chain(&work.secrets).cloned().map(Need::Secret);
    program.map(Need::Agent).into_iter().chain(secrets).collect()
}

/// A worker, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Name, unique among running workers.
    pub name: String,
    /// Process id. A second process with the same name is refused.
    pub process: String,
    /// Machine name.
    pub host: String,
    /// Version of acquit.
    pub version: String,
    /// Maximum number of legs at the same time.
    pub slots: u32,
    /// Current state.
    pub state: WorkerState,
    /// What it offers.
    pub offers: Vec<Need>,
    /// What was requested and is missing, with the reason.
    #[serde(default)]
    pub lacks: BTreeMap<String, String>,
    /// Why it takes no legs although it was not asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

/// Why a worker takes no legs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// The reason in a word.
    pub reason: IdleReason,
    /// The reason in words, to fit after the worker's name.
    pub why: String,
}

/// Why a worker takes no legs, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleReason {
    /// Its disk has too little room.
    Full,
    /// A newer acquit has migrated the store.
    Outdated,
    /// A reason that a newer acquit has.
    #[serde(other)]
    Other,
}

impl Worker {
    /// Time without a sign of life after which a worker's name is free and the worker no longer counts.
    pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(30);

    /// Returns whether it takes legs.
    pub fn takes_legs(&self) -> bool {
        self.state == WorkerState::Working && self.idle.is_none()
    }

    /// Returns the needs that the worker does not offer.
    pub fn missing<'n>(&self, needs: &'n [Need]) -> Vec<&'n Need> {
        needs.iter().filter(|need| !self.offers.contains(need)).collect()
    }

    /// Returns its labels.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.offers.iter().filter_map(|need| match need {
            Need::Label(label) => Some(label.as_str()),
            _ => None,
        })
    }
}

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It takes legs.
    Working,
    /// It was asked to stop and waits for its legs.
    Stopping,
}

/// A worker in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenWorker {
    /// The worker's own description.
    #[serde(flatten)]
    pub worker: Worker,
    /// When it last reported, by the store's clock.
    pub seen: Timestamp,
}

/// A leg that waits for a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingLeg {
    /// Id of the leg.
    pub leg: LegId,
    /// Stage name.
    pub stage: String,
    /// Earliest time of a claim.
    pub not_before: Timestamp,
    /// Its needs.
    pub needs: Vec<Need>,
    /// Whether a person cancelled its task. Then it is claimed only to end it, and no limit applies.
    #[serde(default)]
    pub cancel: bool,
    /// The limit that it waits for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Full>,
}

impl WaitingLeg {
    /// Returns whether it may be claimed at this time, regardless of who claims it.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.not_before <= now && (self.cancel || self.full.is_none())
    }
}

/// Data in the store for other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// Repository that it belongs to.
    pub repository: String,
    /// Leg that left it; `None` if the task was created with it.
    pub leg: Option<LegId>,
    /// Content.
    pub content: Content,
}

/// The content of a parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// Git objects as a pack: everything that these commits need in addition to those of earlier parcels.
    Objects {
        /// The commits.
        tips: Vec<String>,
        /// Name of the hash function.
        format: String,
    },
    /// A file in a leg's folder.
    File {
        /// Path in that folder.
        path: String,
    },
}

/// A parcel in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredParcel {
    /// Number.
    pub id: i64,
    /// Size.
    pub bytes: u64,
    /// Description.
    #[serde(flatten)]
    pub parcel: Parcel,
}

/// The right to send a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// Fence of the leg that sends it.
    Leg(Hold),
    /// A task's creation. Names a parcel of the same repository that must still exist, because the new one contains
    /// only what earlier ones lack. `None` if it needs none.
    Base(Option<i64>),
}

/// The stored data of a task, or for the tasks of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Repository.
    pub repository: String,
    /// Task whose legs left it; `None` for data that tasks were created with.
    pub task: Option<TaskId>,
    /// Number of parcels.
    pub parcels: u64,
    /// Total size.
    pub bytes: u64,
}

/// The parcels to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcels {
    /// Objects of a repository: those that tasks were created with, and those that legs of this task left. Oldest
    /// first.
    Objects(String, TaskId),
    /// Files that legs of this task left.
    Files(TaskId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_read_back_as_it_was_written() {
        for need in [
            Need::Label("os=linux".to_owned()),
            Need::Agent("/opt/bin/agent".to_owned()),
            Need::Secret("TOKEN".to_owned()),
            Need::Repository("https://host/a:b".to_owned()),
            Need::Home("submodules: not carried".to_owned()),
        ] {
            assert_eq!(need.to_string().parse::<Need>(), Ok(need));
        }
        assert!("gpu".parse::<Need>().is_err() && "room:1".parse::<Need>().is_err());
    }
}
