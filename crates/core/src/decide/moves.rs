//! Moves a task from a stage along a transition into the next stage.

use super::{Empty, Next};
use crate::change::Change;
use crate::failure::kind;
use crate::human_request::Ask;
use crate::ids::Name;
use crate::leg::{Entry, Purpose};
use crate::outcome::{self, Outcome};
use crate::task::{End, Tried};
use crate::time::Span;
use crate::workflow::{Consent, Mode, Target, Transition, Work};

/// Returns the kind of failure that an outcome of the harness names.
fn failure_kind(outcome: &Outcome) -> Option<Name> {
    if outcome.name != *outcome::FAILED {
        return None;
    }
    let kind = outcome.payload.get("kind").and_then(|kind| kind.as_str());
    Some(kind.and_then(|kind| kind.parse().ok()).unwrap_or_else(|| Name::literal(kind::AGENT)))
}

impl Next<'_> {
    /// Follows a transition. With exactly one target the task goes there; otherwise a person decides.
    pub(super) fn follow(&mut self, entry: &Entry, transition: &Transition, outcome: &Outcome) {
        let [target] = transition.to.as_slice() else {
            let question = format!("stage {} ended `{}`: where to?", entry.stage, outcome.name);
            let ask = match transition.to.as_slice() {
                [] => Ask::Stuck,
                options => Ask::Choice { options: options.to_vec() },
            };
            return self.ask(entry, ask, question, entry.clone());
        };
        if let Some(budget) = &transition.budget {
            let resume = match target {
                Target::Stage(stage) => Entry { stage: stage.clone(), purpose: Purpose::Work },
                Target::Done | Target::Failed | Target::Person | Target::Back | Target::NextVariation => {
                    entry.clone()
                }
            };
            if let Err(Empty { budget, question }) = self.spend(std::slice::from_ref(budget)) {
                if outcome.name == *outcome::FAILED {
                    return self.ask(entry, Ask::Budget { budget }, question, resume);
                }
                let reason = question.clone();
                return self.give_up(entry, &budget, &reason, question, resume);
            }
        }
        if self.consent(entry) == Consent::AfterIt {
            let rejecting = match self.sent_back(entry, target) {
                Some(back) => format!("sends it back to {} with your words", back.stage),
                None => "ends the task".to_owned(),
            };
            let question = format!(
                "stage {} ended `{}`: go on to {target}? Rejecting {rejecting}",
                entry.stage, outcome.name
            );
            return self.ask(entry, Ask::Approval { to: target.clone() }, question, entry.clone());
        }
        self.go(entry, target, outcome);
    }

    /// Goes to a target that needs no further decision.
    pub(super) fn go(&mut self, entry: &Entry, target: &Target, outcome: &Outcome) {
        let reason =
            || outcome.summary().unwrap_or_else(|| format!("stage {} ended `{}`", entry.stage, outcome.name));
        match target {
            Target::Stage(stage) => self.enter(Entry { stage: stage.clone(), purpose: Purpose::Work }),
            Target::Done => self.push(Change::Ended { end: End::Done }),
            Target::Failed => self.push(Change::Ended { end: End::Failed { reason: reason() } }),
            Target::Person => {
                let question = format!("stage {} ended `{}`: {}", entry.stage, outcome.name, reason());
                self.ask(entry, Ask::Stuck, question, entry.clone());
            }
            Target::Back => match &entry.purpose {
                Purpose::Fix { of, outcome, .. } => {
                    // The work differs from what was reviewed, so review it again.
                    let purpose = if self.judges(of) {
                        Purpose::Work
                    } else {
                        Purpose::Recheck { outcome: outcome.clone() }
                    };
                    self.ready(Entry { stage: of.clone(), purpose }, Span::from(0));
                }
                Purpose::Resolve { of, .. } => match of.purpose {
                    Purpose::Recheck { .. } | Purpose::Merge => self.ready((**of).clone(), Span::from(0)),
                    Purpose::Work | Purpose::Fix { .. } | Purpose::Resolve { .. } => {
                        self.enter((**of).clone());
                    }
                },
                Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => {
                    let question =
                        format!("stage {} leads back, but nothing was rejected before it", entry.stage);
                    self.ask(entry, Ask::Stuck, question, entry.clone());
                }
            },
            Target::NextVariation => self.next_variation(entry, outcome, reason()),
        }
    }

    fn next_variation(&mut self, entry: &Entry, outcome: &Outcome, reason: String) {
        let Some(variation) = &self.workflow.variation else {
            let question = format!("stage {} leads to the next variation, and there is none", entry.stage);
            return self.ask(entry, Ask::Stuck, question, entry.clone());
        };
        let value = self.task.variation_value(self.workflow).unwrap_or_default();
        let left = variation.values.len().saturating_sub(self.task.tried.len() + 1);
        let after = (variation.first + self.task.tried.len() + 1) % variation.values.len().max(1);
        let next = variation.values.get(after).cloned().filter(|_| left > 0);
        let tried =
            Tried { value, reason, failure: failure_kind(outcome), left, next, last_leg: self.task.legs };
        self.push(Change::VariationTried { tried });
        if left > 0 {
            return self.enter(Entry { stage: self.workflow.start.clone(), purpose: Purpose::Work });
        }
        // "Nothing to improve" is a finding. If every value broke down, nothing was examined.
        let end = if self.task.tried.iter().all(Tried::is_broken) {
            let reasons = self.task.tried.iter().map(|tried| format!("{}: {}", tried.value, tried.reason));
            End::Failed { reason: reasons.collect::<Vec<_>>().join("; ") }
        } else {
            End::NoImprovement
        };
        self.push(Change::Ended { end });
    }

    /// Enters a stage: asks for approval if it is needed, asks the question of a human stage, else readies a leg.
    pub(super) fn enter(&mut self, entry: Entry) {
        let stage = self.workflow.stage(entry.stage.as_str());
        match stage.map(|stage| (&stage.work, self.consent(&entry))) {
            Some((Work::Human { question }, _)) => {
                let outcomes = stage.map(|stage| stage.on.keys().cloned().collect()).unwrap_or_default();
                let question = question.clone();
                self.ask(&entry.clone(), Ask::Stage { outcomes }, question, entry);
            }
            Some((_, Consent::BeforeIt)) => {
                let question =
                    format!("stage {} cannot be undone: begin it? Rejecting ends the task", entry.stage);
                let to = Target::Stage(entry.stage.clone());
                self.ask(&entry.clone(), Ask::Approval { to }, question, entry);
            }
            _ => self.ready(entry, Span::from(0)),
        }
    }

    pub(super) fn transition(&self, entry: &Entry, outcome: &Name) -> Option<Transition> {
        self.workflow.stage(entry.stage.as_str())?.on.get(outcome).cloned()
    }

    /// Returns whether a stage's outcome is a judgement of the work.
    fn judges(&self, stage: &Name) -> bool {
        let work = self.workflow.stage(stage.as_str()).map(|stage| &stage.work);
        matches!(work, Some(Work::Agent(agent)) if agent.mode == Mode::Review)
    }
}
