//! Overrides for a workflow: `[workflows.nightshift]` changes a few values without a copy of the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::workflow::{Work, Workflow};

/// Values that override those of the workflow file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adjusted {
    /// Template variables.
    pub variables: BTreeMap<String, String>,
    /// Models of agent stages, by stage.
    pub models: BTreeMap<Name, String>,
}

impl Adjusted {
    /// Returns these overrides, with those of another file as the fallback.
    #[must_use]
    pub fn over(mut self, mut under: Self) -> Self {
        under.variables.append(&mut self.variables);
        under.models.append(&mut self.models);
        under
    }

    /// Applies the overrides to a workflow. Returns the named stages that are not agent stages of it.
    pub fn adjust(&self, workflow: &mut Workflow) -> Vec<Name> {
        workflow.variables.extend(self.variables.clone());
        let mut unknown = Vec::new();
        for (name, model) in &self.models {
            let stage = workflow.stages.iter_mut().find(|stage| stage.name == *name);
            match stage.map(|stage| &mut stage.work) {
                Some(Work::Agent(work)) => work.model = Some(model.clone()),
                Some(Work::Check | Work::Action { .. } | Work::Human { .. }) | None => {
                    unknown.push(name.clone());
                }
            }
        }
        unknown
    }
}
