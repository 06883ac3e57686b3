//! Decisions between accepted work and the base branch: approval of merges, fixes, and conflicts.

use super::{Empty, Illegal, Next};
use crate::change::Change;
use crate::conflict::Hunk;
use crate::failure::kind;
use crate::human_request::Ask;
use crate::ids::Name;
use crate::leg::{Entry, Purpose, Side};
use crate::time::Span;
use crate::workflow::{Action, Consent, Stage, Work};

impl Next<'_> {
    /// Returns the approval that a stage needs. A merge cannot be undone once others build on it, so a task that
    /// requires approval asks before merging, regardless of the stage's settings.
    pub(super) fn consent(&self, entry: &Entry) -> Consent {
        let stage = self.workflow.stage(entry.stage.as_str());
        match stage {
            Some(Stage { work: Work::Action { action: Action::Merge, .. }, .. }) if self.task.is_bound() => {
                Consent::BeforeIt
            }
            Some(stage) => stage.consent,
            None => Consent::NotNeeded,
        }
    }

    /// Returns the stage that fixes what a stage's gates rejected. An action without its own fix stage ran the gates of
    /// an earlier stage and uses that stage's fix.
    pub(super) fn fix_stage(&self, entry: &Entry) -> Option<Name> {
        let stage: &Stage = self.workflow.stage(entry.stage.as_str())?;
        let earlier = || match &stage.work {
            Work::Action { .. } => self.task.last_gated(self.workflow)?.fix.clone(),
            Work::Agent(_) | Work::Check | Work::Human { .. } => None,
        };
        stage.fix.clone().or_else(earlier)
    }

    /// Handles work that conflicts with the base branch: goes to the conflict stage if there is one, else to a person.
    pub(super) fn conflict(&mut self, entry: &Entry, onto: String, hunks: Vec<Hunk>, reason: String) {
        let Some(stage) = self.workflow.conflict.clone() else {
            return self.ask(entry, Ask::Stuck, format!("stage {}: {reason}", entry.stage), entry.clone());
        };
        let budget = Name::literal(kind::CONFLICT);
        let of = Box::new(entry.clone());
        let places = hunks.len();
        let side = Some(Side { base: self.task.base().to_owned(), tip: self.task.tip.clone() });
        let again = Entry { stage, purpose: Purpose::Resolve { of, onto, hunks, side } };
        if entry.purpose == Purpose::Merge {
            // A person is waiting for the merge, and an agent costs money.
            let question = format!(
                "the work conflicts with the base branch in {places} places ({reason}). Approve to let the agent of stage {} \
                 resolve them, or reject and merge the branch yourself",
                again.stage
            );
            return self.ask(entry, Ask::Stuck, question, again);
        }
        match self.spend(std::slice::from_ref(&budget)) {
            Ok(()) => self.enter(again),
            // "Continue" means the stage itself: by then the base branch may have moved again.
            Err(Empty { question, .. }) => self.give_up(entry, &budget, &reason, question, entry.clone()),
        }
    }

    /// Merges delivered work at a person's request, with the stage that delivered it.
    pub(super) fn merge(&mut self) -> Result<(), Illegal> {
        let delivers = |stage: &Name| {
            let stage = self.workflow.stage(stage.as_str());
            stage.is_some_and(|stage| matches!(stage.work, Work::Action { .. }))
        };
        let mut stages = self.task.past.iter().rev().map(|past| past.entry.stage.clone());
        let Some(stage) = stages.find(delivers) else {
            return Err(Illegal::State { what: "be merged without a stage that delivers", state: "done" });
        };
        self.push(Change::BudgetsReset);
        self.ready(Entry { stage, purpose: Purpose::Merge }, Span::from(0));
        Ok(())
    }
}
