//! The data of a task's page.

use acquit_app::history::History;
use acquit_core::agent::Usage;
use acquit_core::definition::Definition;
use acquit_core::leg::{self, Leg};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;
use acquit_core::workflow::Work;

use crate::access::Role;
use crate::page::Sign;

/// The data of a task's page.
pub(super) struct View<'t> {
    pub(super) task: &'t Task,
    pub(super) legs: &'t [Leg],
    pub(super) definition: &'t Definition,
    pub(super) history: &'t History,
    pub(super) sign: Sign,
    /// Checkout with changes that prevent a merge.
    pub(super) dirty: Option<&'t std::path::Path>,
    pub(super) usage: Usage,
    pub(super) now: Timestamp,
    /// Home folder of the user.
    pub(super) home: Option<&'t std::path::Path>,
    /// Role of the person who looks.
    pub(super) role: Role,
}

impl View<'_> {
    pub(super) fn running(&self) -> Option<&Leg> {
        self.legs.last().filter(|leg| leg.state == leg::State::Running)
    }

    /// Returns whether a leg has started.
    pub(super) fn has_started(&self) -> bool {
        self.legs.iter().any(|leg| leg.started.is_some())
    }

    pub(super) fn max_cost(&self) -> Option<u64> {
        self.definition.chosen.max_cost.or(self.definition.config.max_cost)
    }

    /// Returns whether there is a change, or a stage runs that makes one. A stage that only reads makes none.
    pub(super) fn has_diff(&self) -> bool {
        let writes = |leg: &Leg| {
            let stage = self.definition.workflow.stage(leg.entry.stage.as_str());
            stage.is_some_and(|stage| matches!(&stage.work, Work::Agent(work) if work.mode.writes()))
        };
        self.task.tip != self.task.base() || self.running().is_some_and(writes)
    }
}
