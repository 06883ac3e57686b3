//! Decides which legs of a task share a home, `/tmp` and caches.
//!
//! A home belongs to one stage, its agent and their grants: secrets, network, tools and commands. An agent of another stage never sees
//! it: otherwise a `~/.gitconfig` left by a coder would run in a reviewer's `git status`, with the reviewer's secrets.
//! A fix that continues the conversation of the stage it fixes shares that stage's home, as long as both have the same
//! grants.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use acquit_core::definition::Definition;
use acquit_core::ids::Name;
use acquit_core::leg::{Entry, Purpose};
use acquit_core::role::Tool;
use acquit_core::sandbox::Network;
use acquit_core::workflow::{AgentWork, Continue, Work};

/// The agent of a stage and its grants.
#[derive(Hash, PartialEq, Eq)]
struct Grants<'d> {
    agent: Option<&'d Name>,
    secrets: BTreeSet<&'d str>,
    login: BTreeSet<&'d str>,
    passed: BTreeSet<&'d str>,
    network: Network,
    tools: Option<BTreeSet<Tool>>,
    commands: BTreeSet<&'d str>,
}

/// Returns the home of a leg as one directory name, equal for all legs that share it.
pub(crate) fn of(definition: &Definition, entry: &Entry) -> String {
    let own = work(definition, &entry.stage);
    let stage = match &entry.purpose {
        Purpose::Fix { of, .. } if own.is_some_and(|own| goes_on(definition, own, of)) => of,
        Purpose::Fix { .. }
        | Purpose::Work
        | Purpose::Recheck { .. }
        | Purpose::Merge
        | Purpose::Resolve { .. } => &entry.stage,
    };
    let mut hasher = DefaultHasher::new();
    own.map(|own| grants(definition, own)).hash(&mut hasher);
    format!("{stage}-{:016x}", hasher.finish())
}

/// Returns whether a stage that fixes another one continues its conversation.
fn goes_on(definition: &Definition, own: &AgentWork, mended: &Name) -> bool {
    let same = |other| grants(definition, own) == grants(definition, other);
    own.session != Continue::Fresh && work(definition, mended).is_some_and(same)
}

fn work<'d>(definition: &'d Definition, stage: &Name) -> Option<&'d AgentWork> {
    match definition.workflow.stage(stage.as_str()).map(|stage| &stage.work) {
        Some(Work::Agent(work)) => Some(work),
        Some(Work::Action { .. } | Work::Check | Work::Human { .. }) | None => None,
    }
}

fn grants<'d>(definition: &'d Definition, work: &'d AgentWork) -> Grants<'d> {
    let config = &definition.config;
    let agent = work.agent.as_ref().or(config.agent.as_ref());
    let settings = agent.and_then(|name| config.agents.get(name));
    let names = |list: &'d [String]| list.iter().map(String::as_str);
    let own = |list: fn(&acquit_core::config::Agent) -> &Vec<String>| {
        settings.map(|agent| names(list(agent))).into_iter().flatten()
    };
    Grants {
        agent,
        secrets: own(|agent| &agent.secrets).chain(names(&work.secrets)).collect(),
        login: own(|agent| &agent.login).collect(),
        passed: own(|agent| &agent.pass_env).collect(),
        network: work.network.unwrap_or(config.network.agents),
        tools: work.tools().map(|tools| tools.iter().copied().collect()),
        commands: names(&work.commands).collect(),
    }
}
