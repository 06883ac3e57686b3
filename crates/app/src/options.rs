//! Options of a new task besides its text: workflow, agent, model, limits and variables.

use std::collections::BTreeMap;

use acquit_core::config::{Adapter, Config};
use acquit_core::ids::Name;
use acquit_core::time::Span;
use acquit_core::workflow::{Work, Workflow};

use crate::app::App;
use crate::error::Error;

/// How to run a task, as far as it differs from the project's configuration.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// Workflow to run.
    pub workflow: Option<Name>,
    /// Agent for every stage, instead of those of the workflow and the project.
    pub agent: Option<Name>,
    /// Model for every stage, or an alias of `[models]`.
    pub model: Option<String>,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Stop and ask when the agents of this run have cost this much, in millionths of a dollar.
    pub max_cost: Option<u64>,
    /// Stop and ask when the legs of this run have taken this long.
    pub max_time: Option<Span>,
}

/// Replaces settings of the stages by the person's choices.
pub fn take_chosen(workflow: &mut Workflow, chosen: &acquit_core::definition::Chosen) {
    for stage in &mut workflow.stages {
        if let Work::Agent(work) = &mut stage.work {
            work.agent = chosen.agent.clone().or(work.agent.take());
            work.model = chosen.model.clone().or(work.model.take());
        }
    }
}

/// Rejects a model for agents that take none: their programs start as the configuration says. If only some stages have
/// such an agent, warns about these.
pub fn check_model(app: &App, workflow: &Workflow, config: &Config) -> Result<(), Error> {
    let (mut takes, mut ignores) = (false, Vec::new());
    for stage in &workflow.stages {
        let Work::Agent(work) = &stage.work else { continue };
        let Some(name) = work.agent.as_ref().or(config.agent.as_ref()) else { continue };
        match config.agents.get(name).map(|agent| &agent.adapter) {
            Some(Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. }) => {
                if !ignores.contains(&name.as_str()) {
                    ignores.push(name.as_str());
                }
            }
            Some(Adapter::Product { .. }) | None => takes = true,
        }
    }
    if ignores.is_empty() {
        return Ok(());
    }
    let with = format!("with the agent {}, whose program starts as it is configured", ignores.join(", "));
    if takes {
        app.warn(format!("--model has no effect {with}"));
        return Ok(());
    }
    Err(Error::NoEffect { flag: "--model", with })
}

/// Returns the task's own variables. A variable with the name of the workflow's variation, or a category, selects which
/// value comes first.
pub fn begin_with(
    workflow: &mut Workflow,
    variables: &[(String, String)],
    category: Option<String>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut own: BTreeMap<String, String> = variables.iter().cloned().collect();
    if let Some(category) = category {
        let Some(variation) = &workflow.variation else {
            return Err(Error::NoCategory { workflow: workflow.name.clone(), category });
        };
        own.insert(variation.variable.clone(), category);
    }
    if let Some(variation) = &mut workflow.variation
        && let Some(value) = own.remove(&variation.variable)
    {
        let position = variation.values.iter().position(|known| *known == value).ok_or_else(|| {
            let (variable, known) = (variation.variable.clone(), variation.values.join(", "));
            Error::NoValue { variable, value, known }
        })?;
        // The others follow in their written order.
        variation.values[..=position].rotate_right(1);
        variation.first = 0;
    }
    Ok(own)
}
