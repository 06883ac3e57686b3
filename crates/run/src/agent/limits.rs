//! Limits that cannot stop an agent, because its output does not show what they count.

use acquit_core::config::{Adapter, Agent, Config};
use acquit_core::ids::Name;
use acquit_core::price;
use acquit_core::workflow::{Stage, Workflow};

use super::product::{AT_THE_END, Facts, Support};
use super::tools::agents;

/// Returns a sentence for each limit of a workflow's stages that does not stop their agents.
pub fn unheld(workflow: &Workflow, config: &Config) -> Vec<String> {
    let of = |(stage, _, name, agent): (&Stage, _, &Name, &Agent)| {
        let turns = stage.limits.turns.and_then(|_| turns(name, agent));
        let cost = stage.limits.cost.or(config.max_cost).and_then(|_| money(name, agent, config));
        let words = turns.into_iter().chain(cost);
        words.map(|words| format!("stage `{}`: {words}", stage.name)).collect::<Vec<_>>()
    };
    agents(workflow, config).flat_map(of).collect()
}

fn turns(name: &Name, agent: &Agent) -> Option<String> {
    let counts = match &agent.adapter {
        Adapter::Product { product } => Facts::of(*product).supports.turns != Support::No,
        Adapter::Acp { .. } | Adapter::Scripted { .. } => true,
        Adapter::Command { .. } => false,
    };
    (!counts)
        .then(|| format!("the output of the agent `{name}` does not show its turns: `turns` has no effect"))
}

/// Returns why a limit on money does not stop this agent, or not before the end of its turn.
pub(crate) fn money(name: &Name, agent: &Agent, config: &Config) -> Option<String> {
    let (usage, cost) = match &agent.adapter {
        Adapter::Product { product } => {
            let supports = Facts::of(*product).supports;
            (supports.usage, supports.cost)
        }
        Adapter::Acp { .. } => (Support::Partly(AT_THE_END), Support::Yes),
        Adapter::Scripted { .. } => (Support::Yes, Support::Yes),
        Adapter::Command { .. } => (Support::No, Support::No),
    };
    if usage == Support::No {
        return Some(format!("the agent `{name}` does not report its usage: a limit on money has no effect"));
    }
    let model = agent.model.as_deref().map(|model| config.model(model));
    let unpriced = model.filter(|model| cost == Support::No && !price::is_known(model, &config.prices));
    if let Some(model) = unpriced {
        return Some(format!(
            "the model `{model}` of the agent `{name}` has no price: without [prices.\"{model}\"] in acquit.toml, a limit on money \
             has no effect"
        ));
    }
    (usage == Support::Partly(AT_THE_END)).then(|| {
        format!("the agent `{name}` reports its usage at the end of a turn: a limit on money cannot stop it before")
    })
}
