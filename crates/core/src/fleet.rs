//! Many machines on one store: what a leg needs of the machine that runs it, the workers that offer it, and what travels between them.
//!
//! A leg's needs are a list of words, and so are a worker's offers: a worker takes a leg if it offers everything that the leg needs. What a task
//! needs follows from its definition alone, so the store can compare the two in the statement that claims.

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

/// Something that a leg needs of the machine that runs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Need {
    /// A label that its stage names.
    Label(String),
    /// The program of its agent: the name of a product, a path, or a name to look for.
    Agent(String),
    /// A secret, by its name.
    Secret(String),
    /// A repository, by its key.
    Repository(String),
    /// The machine that the task was made on, and why.
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

    /// In words, to fit after "needs".
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

/// What legs of each stage need.
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
    // A relative path is one of the repository's own.
    let elsewhere = |program: &String| program.starts_with('/') || !program.contains('/');
    let program = agent.program.clone().or(usual).filter(elsewhere);
    let secrets = agent.secrets.iter().chain(&work.secrets).cloned().map(Need::Secret);
    program.map(Need::Agent).into_iter().chain(secrets).collect()
}

/// A worker, as it reports itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Its name, which no other living worker has.
    pub name: String,
    /// Which process it is: a name that is taken by another one is refused.
    pub process: String,
    /// The machine's name.
    pub host: String,
    /// The version of its program.
    pub version: String,
    /// How many legs it runs at the same time.
    pub slots: u32,
    /// What it is doing.
    pub state: WorkerState,
    /// What it has.
    pub offers: Vec<Need>,
    /// What it was asked for and does not have, and why.
    #[serde(default)]
    pub lacks: BTreeMap<String, String>,
}

impl Worker {
    /// How long a worker may be silent until its name is free and nobody counts on it.
    pub const SILENCE: std::time::Duration = std::time::Duration::from_secs(30);

    /// What of a leg's needs it does not have.
    pub fn missing<'n>(&self, needs: &'n [Need]) -> Vec<&'n Need> {
        needs.iter().filter(|need| !self.offers.contains(need)).collect()
    }

    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.offers.iter().filter_map(|need| match need {
            Need::Label(label) => Some(label.as_str()),
            _ => None,
        })
    }
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It takes legs.
    Working,
    /// It was asked to stop, and waits for its legs.
    Stopping,
}

/// A worker in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenWorker {
    /// What it said.
    #[serde(flatten)]
    pub worker: Worker,
    /// When it said so, by the store's clock.
    pub seen: Timestamp,
}

/// A leg that waits for somebody to take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingLeg {
    /// Which.
    pub leg: LegId,
    /// Its stage.
    pub stage: String,
    /// When it may be claimed.
    pub not_before: Timestamp,
    /// What it needs.
    pub needs: Vec<Need>,
    /// Whether a person has cancelled its task: then it is claimed only to end it, and no limit keeps it waiting.
    #[serde(default)]
    pub cancel: bool,
    /// The limit that keeps it waiting, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Full>,
}

impl WaitingLeg {
    /// Whether it may be claimed at a time, whoever does.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.not_before <= now && (self.cancel || self.full.is_none())
    }
}

/// Something that is kept in the store for other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// The repository that it belongs to.
    pub repository: String,
    /// The leg that left it; `None` for what a task was made with.
    pub leg: Option<LegId>,
    /// What it is.
    pub content: Content,
}

/// What a parcel holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// Objects of git, as a pack: all that these commits need beyond the commits of earlier parcels.
    Objects {
        /// The commits.
        tips: Vec<String>,
        /// The name of the hash function.
        format: String,
    },
    /// A file of a leg's folder.
    File {
        /// Its path there.
        path: String,
    },
}

/// A parcel in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredParcel {
    /// Its number.
    pub id: i64,
    /// Its size.
    pub bytes: u64,
    /// What it is.
    #[serde(flatten)]
    pub parcel: Parcel,
}

/// What a parcel is sent under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// The fence of the leg that leaves it.
    Leg(Hold),
    /// For what tasks are made with: a parcel of the same repository that must still be there, because this one has only what those there
    /// lack. `None` if it needs none of them.
    Base(Option<i64>),
}

/// What the store has of a task, or for the tasks of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The repository.
    pub repository: String,
    /// The task whose legs left it; `None` for what tasks were made with.
    pub task: Option<TaskId>,
    /// How many parcels it is.
    pub parcels: u64,
    /// Their size.
    pub bytes: u64,
}

/// Which parcels are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcels {
    /// Objects of a repository: those that tasks were made with, and those that this task's legs left. Oldest first.
    Objects(String, TaskId),
    /// Files that the legs of this task left.
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
