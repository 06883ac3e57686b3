//! What a project wants otherwise in a workflow: `[workflows.nightshift]` changes a few values without a copy of the whole file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::workflow::{Work, Workflow};

/// Values that count before those of the workflow's own file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adjusted {
    /// Variables of its templates.
    pub variables: BTreeMap<String, String>,
    /// Models of its agent stages, by stage.
    pub models: BTreeMap<Name, String>,
}

impl Adjusted {
    /// The same over what another file says.
    #[must_use]
    pub fn over(mut self, mut under: Self) -> Self {
        under.variables.append(&mut self.variables);
        under.models.append(&mut self.models);
        under
    }

    /// Changes the workflow. Gives the stages that are named and that it does not have as agent stages.
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
