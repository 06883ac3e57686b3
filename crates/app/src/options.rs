//! What whoever asks for a task chooses beside its words: workflow, agent, model, limits and variables.

use std::collections::BTreeMap;

use acquit_core::ids::Name;
use acquit_core::time::Span;
use acquit_core::workflow::{Work, Workflow};

use crate::error::Error;

/// By what a task is done, where that is not as the project says.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// The workflow to follow.
    pub workflow: Option<Name>,
    /// The agent that takes every stage of it, instead of those that the workflow and the project name.
    pub agent: Option<Name>,
    /// The model that is asked at every stage, or an alias of `[models]`.
    pub model: Option<String>,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Stop and ask when the agents of this run have cost so much, in millionths of a dollar.
    pub max_cost: Option<u64>,
    /// Stop and ask when the legs of this run have taken so long.
    pub max_time: Option<Span>,
}

/// Puts what a person chose in place of what the stages say.
pub fn take_chosen(workflow: &mut Workflow, chosen: &acquit_core::definition::Chosen) {
    for stage in &mut workflow.stages {
        if let Work::Agent(work) = &mut stage.work {
            work.agent = chosen.agent.clone().or(work.agent.take());
            work.model = chosen.model.clone().or(work.model.take());
        }
    }
}

/// The task's own variables. One that has the name of the workflow's variation, or a category, says which of its values comes
/// first.
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
        // The others follow in the order in which they are written.
        variation.values[..=position].rotate_right(1);
        variation.first = 0;
    }
    Ok(own)
}
