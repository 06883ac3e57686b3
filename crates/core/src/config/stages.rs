//! Checks that the configuration has the agents, secrets and channels that the stages of a workflow name. Runs before
//! anything starts.

use super::read::declare;
use super::{Agent, Config};
use crate::ids::Name;
use crate::toml_reader::did_you_mean;
use crate::workflow::{Action, AgentWork, Notify, Work, Workflow};

/// A stage that names something the configuration does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow `{workflow}`, stage `{stage}`: {what}")]
pub struct Lacking {
    /// Workflow name.
    pub workflow: Name,
    /// Stage name.
    pub stage: Name,
    /// What is missing.
    pub what: Lack,
    /// Hint on how to fix it.
    pub hint: Option<String>,
}

/// What a stage needs but the configuration does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// It names no agent, and the project has no default.
    #[error("no agent, and there is no default")]
    NoAgent,
    /// It names an undeclared agent.
    #[error("unknown agent `{0}`")]
    Agent(Name),
    /// It names an undeclared secret.
    #[error("unknown secret `{0}`")]
    Secret(String),
    /// It sends a message, but no channel is configured.
    #[error("it sends a message, and there is no channel")]
    NoChannel,
    /// It names an undeclared channel.
    #[error("unknown channel `{0}`")]
    Channel(Name),
    /// It names a secret whose variable its agent already gets from elsewhere.
    #[error("the secret `{secret}` is also in `{list}` of the agent `{agent}`")]
    Twice {
        /// Name of the secret.
        secret: String,
        /// Name of the agent.
        agent: Name,
        /// Other source of the variable: `env` or `pass_env`.
        list: &'static str,
    },
}

/// Returns everything that stages of the workflow name and the configuration does not have.
pub fn check_stages(workflow: &Workflow, config: &Config) -> Vec<Lacking> {
    let mut lacking = Vec::new();
    for stage in &workflow.stages {
        let found = match &stage.work {
            Work::Agent(work) => of_agent(work, config),
            Work::Action { action: Action::Notify(notify), .. } => channels(notify, config),
            Work::Action { .. } | Work::Check | Work::Human { .. } => Vec::new(),
        };
        lacking.extend(found.into_iter().map(|(what, hint)| Lacking {
            workflow: workflow.name.clone(),
            stage: stage.name.clone(),
            what,
            hint,
        }));
    }
    lacking
}

type Found = (Lack, Option<String>);

fn of_agent(work: &AgentWork, config: &Config) -> Vec<Found> {
    let mut found = Vec::new();
    let agent = match agent(work, config) {
        Ok(agent) => Some(agent),
        Err(lack) => {
            found.push(lack);
            None
        }
    };
    found.extend(work.secrets.iter().filter_map(|name| secret(name, agent, config)));
    found
}

fn channels(notify: &Notify, config: &Config) -> Vec<Found> {
    let known = &config.notices.channels;
    if known.is_empty() {
        let hint = "declare one in acquit.toml: [notify.phone] with kind = \"ntfy\" and a topic".to_owned();
        return vec![(Lack::NoChannel, Some(hint))];
    }
    let unknown = notify.channels.iter().filter(|name| !known.contains_key(*name));
    unknown
        .map(|name| {
            let hint = did_you_mean(name.as_str(), "channels are", known.keys().map(Name::as_str));
            let hint = hint.unwrap_or_else(|| format!("declare it in acquit.toml: [notify.{name}]"));
            (Lack::Channel(name.clone()), Some(hint))
        })
        .collect()
}

fn agent<'c>(work: &'c AgentWork, config: &'c Config) -> Result<(&'c Name, &'c Agent), Found> {
    let Some(name) = work.agent.as_ref().or(config.agent.as_ref()) else {
        let hint = if config.agents.is_empty() {
            "declare one in acquit.toml: [agents.NAME] with adapter and run"
        } else {
            "set `agent` in acquit.toml"
        };
        return Err((Lack::NoAgent, Some(hint.to_owned())));
    };
    config.agents.get(name).map(|agent| (name, agent)).ok_or_else(|| {
        let names = config.agents.keys().map(Name::as_str);
        let hint = did_you_mean(name.as_str(), "agents are", names)
            .unwrap_or_else(|| format!("declare it in acquit.toml: [agents.{name}]"));
        (Lack::Agent(name.clone()), Some(hint))
    })
}

fn secret(name: &str, agent: Option<(&Name, &Agent)>, config: &Config) -> Option<Found> {
    if !config.secrets.contains_key(name) {
        let names = config.secrets.keys().map(String::as_str);
        let hint = did_you_mean(name, "secrets are", names).unwrap_or_else(|| declare(name));
        return Some((Lack::Secret(name.to_owned()), Some(hint)));
    }
    let (agent_name, agent) = agent?;
    let list = if agent.env.contains_key(name) {
        "env"
    } else if agent.pass_env.iter().any(|passed| passed == name) {
        "pass_env"
    } else {
        return None;
    };
    let what = Lack::Twice { secret: name.to_owned(), agent: agent_name.clone(), list };
    Some((what, Some(format!("it can have only one value; remove it from `{list}`"))))
}
