//! Pools: legs that share a limit on how many run at the same time, or that wait together for a provider's usage limit.
//!
//! A leg's pools follow from its task's definition alone, so the store can compare limits in the statement that claims.
//! The newest leg of a pool sets its limit: a changed configuration applies to all waiting legs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::{Adapter, Agent, Config};
use crate::definition::Definition;
use crate::ids::Name;
use crate::time::Timestamp;
use crate::workflow::{AgentWork, Stage, Work};

/// Legs that share a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Legs of a project.
    Project,
    /// Legs of a workflow in a project.
    Workflow(Name),
    /// Legs with an agent of a project.
    Agent(Name),
    /// Legs whose agents use this account of a provider.
    Account(String),
}

impl Pool {
    /// Returns its key in the store, which several projects share.
    pub fn key(&self, project: &str) -> String {
        match self {
            Self::Project => format!("project:{project}"),
            Self::Workflow(workflow) => format!("workflow:{workflow}:{project}"),
            Self::Agent(agent) => format!("agent:{agent}:{project}"),
            Self::Account(account) => format!("account:{account}"),
        }
    }
}

/// A leg's membership in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The pool.
    pub pool: Pool,
    /// Maximum number of its legs that run at the same time; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

/// Why a pool does not let a leg start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Full {
    /// Key of the pool.
    pub pool: String,
    /// When its account's usage limit resets; `None` if the maximum number of legs is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Maximum number of its legs that run at the same time, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

impl fmt::Display for Full {
    /// Formats the reason, to follow "waits:".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.pool.splitn(3, ':');
        let (kind, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if self.until.is_some() {
            return write!(f, "the account `{name}` is at its usage limit");
        }
        let most = self.at_once.unwrap_or(0);
        match kind {
            "project" => write!(f, "`at_once = {most}` of the project"),
            _ => write!(f, "`at_once = {most}` of the {kind} `{name}`"),
        }
    }
}

/// Returns the pools of each stage's legs. Actions are short and in none.
pub fn pools(definition: &Definition) -> BTreeMap<Name, Vec<Share>> {
    let of = |stage: &Stage| (stage.name.clone(), stage_pools(definition, stage));
    definition.workflow.stages.iter().map(of).filter(|(_, shares)| !shares.is_empty()).collect()
}

fn stage_pools(definition: &Definition, stage: &Stage) -> Vec<Share> {
    let (workflow, config) = (&definition.workflow, &definition.config);
    let mut shares = match &stage.work {
        Work::Agent(_) | Work::Check => vec![
            Share { pool: Pool::Project, at_once: config.at_once },
            Share { pool: Pool::Workflow(workflow.name.clone()), at_once: workflow.at_once },
        ],
        Work::Action { .. } | Work::Human { .. } => Vec::new(),
    };
    if let Work::Agent(work) = &stage.work
        && let Some((name, agent)) = agent_of(config, work)
    {
        shares.push(Share { pool: Pool::Agent(name.clone()), at_once: agent.at_once });
        shares.push(Share { pool: Pool::Account(account_of(agent)), at_once: None });
    }
    shares
}

fn agent_of<'c>(config: &'c Config, work: &'c AgentWork) -> Option<(&'c Name, &'c Agent)> {
    let name = work.agent.as_ref().or(config.agent.as_ref())?;
    Some((name, config.agents.get(name)?))
}

/// Returns the account that an agent uses: the one it names, else its program with the names of its secrets. On one machine,
/// agents that are started alike with secrets of the same names have the same account.
pub fn account_of(agent: &Agent) -> String {
    if let Some(account) = &agent.account {
        return account.clone();
    }
    let usual = match &agent.adapter {
        Adapter::Product { product } => product.name(),
        Adapter::Scripted { script } => script.as_str(),
        Adapter::Command { run } | Adapter::Acp { run } => run.program().unwrap_or_default(),
    };
    let mut words = vec![agent.program.as_deref().unwrap_or(usual)];
    words.extend(agent.secrets.iter().map(String::as_str));
    words.join("+").replace(':', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pool_says_why_in_words() {
        let full = |pool: &Pool, until, at_once| Full { pool: pool.key("/src/a:b"), until, at_once };
        let paused = full(&Pool::Account("team".to_owned()), Some(Timestamp(1)), None);
        assert_eq!(paused.to_string(), "the account `team` is at its usage limit");
        assert_eq!(full(&Pool::Project, None, Some(2)).to_string(), "`at_once = 2` of the project");
        let agent = full(&Pool::Agent(Name::literal("claude")), None, Some(1));
        assert_eq!(agent.to_string(), "`at_once = 1` of the agent `claude`");
    }
}
