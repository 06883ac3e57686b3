//! A workflow as written, with source locations and unresolved names. [`super::check`] reports what is wrong with it;
//! if nothing is, [`Draft::build`] makes the [`Workflow`].

use std::collections::BTreeMap;

use super::{Begin, Consent, Limits, Stage, Stop, Target, Transition, Variation, Warnings, Work, Workflow};
use crate::failure::kind;
use crate::gate::Gate;
use crate::ids::Name;
use crate::toml_reader::{At, Place};

/// The contents of the file.
pub(super) struct Draft {
    pub(super) description: String,
    pub(super) start: Option<At<Name>>,
    /// Stage that resolves conflicts.
    pub(super) conflict: Option<At<Name>>,
    pub(super) stages: Vec<StageDraft>,
    pub(super) gates: Vec<At<Gate>>,
    /// Gates of the project, which stages can also name.
    pub(super) shared: Vec<Gate>,
    /// Budgets of the project.
    pub(super) usual: BTreeMap<Name, u32>,
    pub(super) branch_prefix: Option<String>,
    pub(super) at_once: Option<u32>,
    /// Budgets declared in the file.
    pub(super) budgets: Vec<(At<Name>, u32)>,
    /// `None` also if it could not be parsed.
    pub(super) variation: Option<Variation>,
    /// Whether there is a variation, even one that could not be parsed.
    pub(super) varies: bool,
    pub(super) variables: BTreeMap<String, String>,
    /// Whether every reference could be parsed. If not, something that seems to be missing may just be unparsed.
    pub(super) whole: bool,
    /// Stages that exist but could not be parsed.
    pub(super) unread: Vec<String>,
}

/// A stage in the file.
pub(super) struct StageDraft {
    pub(super) name: At<Name>,
    /// `None` if it could not be parsed.
    pub(super) work: Option<Work>,
    pub(super) gates: Vec<At<Name>>,
    pub(super) stop: Stop,
    pub(super) warnings: Warnings,
    pub(super) fix: Option<At<Name>>,
    /// Location of `on`, if there is one.
    pub(super) on_place: Option<Place>,
    pub(super) on: Vec<TransitionDraft>,
    pub(super) limits: Limits,
    pub(super) consent: Consent,
    pub(super) from: Begin,
    /// Labels of the workers that may run it.
    pub(super) runs_on: Vec<String>,
    /// Whether `enabled = false`.
    pub(super) disabled: bool,
}

/// A transition in the file.
pub(super) struct TransitionDraft {
    pub(super) outcome: At<Name>,
    pub(super) to: Vec<At<Target>>,
    pub(super) budget: Option<At<Name>>,
    pub(super) schema: Option<serde_json::Value>,
    pub(super) description: Option<String>,
}

impl Draft {
    /// Returns a stage by name.
    pub(super) fn stage(&self, name: &Name) -> Option<&StageDraft> {
        self.stages.iter().find(|stage| stage.name.value == *name)
    }

    /// Returns the start stage: the named one, or the first.
    pub(super) fn start(&self) -> Option<&StageDraft> {
        match &self.start {
            Some(start) => self.stage(&start.value),
            None => self.stages.first(),
        }
    }

    /// Returns a gate by name: the workflow's own, else the project's.
    pub(super) fn gate(&self, name: &Name) -> Option<&Gate> {
        let own = self.gates.iter().map(|gate| &gate.value);
        own.chain(&self.shared).find(|gate| gate.name == *name)
    }

    /// Returns whether this stage only fixes things: it is the fix of some stage, or conflicts lead to it.
    pub(super) fn mends(&self, stage: &Name) -> bool {
        self.resolves(stage)
            || self.stages.iter().any(|other| other.fix.as_ref().is_some_and(|fix| fix.value == *stage))
    }

    /// Returns whether conflicts lead to this stage.
    pub(super) fn resolves(&self, stage: &Name) -> bool {
        self.conflict.as_ref().is_some_and(|conflict| conflict.value == *stage)
    }

    /// Returns every budget that can be spent, including defaults.
    pub(super) fn all_budgets(&self) -> BTreeMap<Name, u32> {
        let mut budgets: BTreeMap<Name, u32> =
            kind::DEFAULTS.iter().map(|(name, limit)| (Name::literal(name), *limit)).collect();
        budgets.extend(self.usual.clone());
        budgets.extend(self.budgets.iter().map(|(name, limit)| (name.value.clone(), *limit)));
        budgets
    }

    /// Builds the workflow of a sound draft.
    pub(super) fn build(self, name: &Name) -> Option<Workflow> {
        let run = |gate: &Gate| self.stages.iter().any(|stage| stage.runs(&gate.name));
        let own = |gate: &Gate| self.gates.iter().any(|own| own.value.name == gate.name);
        let mut gates: Vec<Gate> = self.gates.iter().map(|gate| gate.value.clone()).collect();
        gates.extend(self.shared.iter().filter(|gate| run(gate) && !own(gate)).cloned());
        Some(Workflow {
            name: name.clone(),
            start: self.start()?.name.value.clone(),
            budgets: self.all_budgets(),
            description: self.description,
            stages: self.stages.into_iter().map(StageDraft::build).collect::<Option<_>>()?,
            gates,
            variation: self.variation,
            variables: self.variables,
            conflict: self.conflict.map(|stage| stage.value),
            branch_prefix: self.branch_prefix,
            at_once: self.at_once,
        })
    }
}

impl StageDraft {
    fn runs(&self, gate: &Name) -> bool {
        self.gates.iter().any(|named| named.value == *gate)
    }

    fn build(self) -> Option<Stage> {
        Some(Stage {
            name: self.name.value,
            work: self.work?,
            gates: self.gates.into_iter().map(|gate| gate.value).collect(),
            stop: self.stop,
            warnings: self.warnings,
            fix: self.fix.map(|fix| fix.value),
            on: self.on.into_iter().map(TransitionDraft::build).collect(),
            limits: self.limits,
            consent: self.consent,
            from: self.from,
            runs_on: self.runs_on,
        })
    }
}

impl TransitionDraft {
    fn build(self) -> (Name, Transition) {
        let transition = Transition {
            to: self.to.into_iter().map(|target| target.value).collect(),
            budget: self.budget.map(|budget| budget.value),
            schema: self.schema,
            description: self.description,
        };
        (self.outcome.value, transition)
    }
}
