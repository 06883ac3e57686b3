//! Changes: the only way to modify a task. Each is stored as an event; replaying the events gives the same task.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::definition::Definition;
use crate::fingerprint::Fingerprint;
use crate::human_request::{Answer, Ask, HumanRequest};
use crate::ids::Name;
use crate::labels::Labels;
use crate::leg::{Ending, Entry, Past, Purpose, Report};
use crate::task::{Actor, End, Remark, Root, Seed, State, Task, Tried};
use crate::time::Span;
use crate::workflow::{Begin, Workflow};

/// A change to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The task was created.
    Created {
        /// Properties of the task.
        seed: Box<Seed>,
    },
    /// A new leg waits for a harness.
    LegReadied {
        /// Leg number.
        leg: u32,
        /// Work of the leg.
        entry: Box<Entry>,
        /// Delay before it may be claimed.
        delay: Span,
    },
    /// A person changed the configuration, and the task continues with the new one.
    DefinitionUpdated {
        /// Definition that applies from the next leg on.
        definition: Box<Definition>,
        /// Differences, one line per setting.
        difference: Vec<String>,
    },
    /// A leg ended.
    LegEnded {
        /// Leg number.
        leg: u32,
        /// Result of the leg.
        report: Box<Report>,
    },
    /// A retry or loop spent some of a budget.
    BudgetSpent {
        /// Name of the budget.
        budget: Name,
        /// Amount spent in total.
        spent: u32,
        /// Limit of the budget.
        limit: u32,
    },
    /// A person reset all budgets of the task.
    BudgetsReset,
    /// A person granted the money and time limits once more. Retry budgets stay as they are.
    AllowanceRenewed,
    /// A variation value did not succeed. Work starts from the base again, with all budgets reset.
    VariationTried {
        /// The value, and why it failed.
        tried: Tried,
    },
    /// Another task is fixing the failure that this one hit; this one waits for it.
    Blocked {
        /// The other task and the failure.
        root: Root,
        /// Work to resume afterwards.
        resume: Box<Entry>,
    },
    /// The branch was renamed after a better description of the work than the task's title.
    BranchNamed {
        /// New branch name.
        branch: String,
    },
    /// A person edited the labels: priority, size, complexity, tags, metadata.
    LabelsEdited {
        /// All labels after the edit.
        labels: Box<Labels>,
    },
    /// A person is asked.
    RequestOpened {
        /// The question or approval.
        request: Box<HumanRequest>,
    },
    /// A person answered.
    RequestAnswered {
        /// Number of the human request.
        request: u32,
        /// Who answered.
        by: Actor,
        /// The answer.
        answer: Answer,
    },
    /// A person left a remark for the agents.
    Remarked {
        /// Author and text.
        remark: Remark,
    },
    /// A person asked to cancel the task.
    CancelAsked {
        /// Who asked.
        by: Actor,
    },
    /// The task ended.
    Ended {
        /// Result of the task.
        end: End,
    },
}

impl Change {
    /// Readies a leg without delay.
    pub fn readied(leg: u32, entry: Entry) -> Self {
        Self::LegReadied { leg, entry: Box::new(entry), delay: Span::from(0) }
    }

    /// Returns the delay of a readied leg.
    pub fn delay(&self) -> Duration {
        match self {
            Self::LegReadied { delay, .. } => delay.duration(),
            _ => Duration::ZERO,
        }
    }

    /// Returns the name of the change in the event log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "task_created",
            Self::DefinitionUpdated { .. } => "definition_updated",
            Self::LegReadied { .. } => "leg_readied",
            Self::LegEnded { .. } => "leg_ended",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::BudgetsReset => "budgets_reset",
            Self::AllowanceRenewed => "allowance_renewed",
            Self::VariationTried { .. } => "variation_tried",
            Self::Blocked { .. } => "blocked",
            Self::BranchNamed { .. } => "branch_named",
            Self::LabelsEdited { .. } => "labels_edited",
            Self::RequestOpened { .. } => "request_opened",
            Self::RequestAnswered { .. } => "request_answered",
            Self::Remarked { .. } => "remarked",
            Self::CancelAsked { .. } => "cancel_asked",
            Self::Ended { .. } => "task_ended",
        }
    }

    /// Returns the number of the leg this change is about.
    pub fn leg(&self) -> Option<u32> {
        match self {
            Self::LegReadied { leg, .. } | Self::LegEnded { leg, .. } => Some(*leg),
            Self::Created { .. }
            | Self::DefinitionUpdated { .. }
            | Self::BudgetSpent { .. }
            | Self::BudgetsReset
            | Self::AllowanceRenewed
            | Self::VariationTried { .. }
            | Self::Blocked { .. }
            | Self::BranchNamed { .. }
            | Self::LabelsEdited { .. }
            | Self::RequestOpened { .. }
            | Self::RequestAnswered { .. }
            | Self::Remarked { .. }
            | Self::CancelAsked { .. }
            | Self::Ended { .. } => None,
        }
    }
}

impl Task {
    /// Rebuilds a task from its history. Returns `None` if the history does not start with [`Change::Created`].
    pub fn replay<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Option<Self> {
        let mut changes = changes.into_iter();
        let Some(Change::Created { seed }) = changes.next() else { return None };
        let mut task = Self::new((**seed).clone());
        for change in changes {
            task.apply(change);
        }
        Some(task)
    }

    /// Returns the current value of the workflow's variation for this task.
    pub fn variation_value(&self, workflow: &Workflow) -> Option<String> {
        let variation = workflow.variation.as_ref()?;
        let index = (variation.first + self.tried.len()) % variation.values.len().max(1);
        variation.values.get(index).cloned()
    }

    /// Returns whether the task ended because no value of the variation succeeded.
    pub fn is_exhausted(&self) -> bool {
        let ended = matches!(self.state, State::Ended { end: End::NoImprovement | End::Failed { .. } });
        ended && self.tried.last().is_some_and(|tried| tried.left == 0)
    }

    /// Returns the commit that a leg of this task starts from.
    pub fn start_of(&self, entry: &Entry, workflow: &Workflow) -> &str {
        let from = workflow.stage(entry.stage.as_str()).map(|stage| stage.from).unwrap_or_default();
        match (from, &entry.purpose) {
            (Begin::Base, Purpose::Work) => self.base(),
            (
                Begin::Base,
                Purpose::Fix { .. } | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge,
            )
            | (Begin::Work, _) => &self.tip,
        }
    }

    /// Applies one change. [`crate::decide::decide`] has already checked that its changes fit, so this never fails. On
    /// a history from another source it merely reproduces that history.
    pub fn apply(&mut self, change: &Change) {
        match change {
            // The definition is stored next to the task.
            Change::Created { .. } | Change::DefinitionUpdated { .. } => {}
            Change::LegReadied { leg, entry, .. } => {
                self.legs = *leg;
                self.state = State::Working { leg: *leg, entry: (**entry).clone(), cancel: None };
            }
            Change::LegEnded { leg, report } => self.end_leg(*leg, report),
            Change::BudgetSpent { budget, spent, .. } => {
                self.spent.insert(budget.clone(), *spent);
            }
            Change::BudgetsReset => {
                self.spent.clear();
                self.paid_for = self.past.len();
                // All values failed, so a retry starts with the first value again.
                if self.is_exhausted() {
                    self.tried.clear();
                }
            }
            Change::AllowanceRenewed => self.paid_for = self.past.len(),
            Change::VariationTried { tried } => {
                self.tried.push(tried.clone());
                self.tip = self.base().to_owned();
                self.proven = None;
                // Failures with one value say nothing about the next.
                self.spent.clear();
                for past in &mut self.past {
                    past.session = None;
                }
                // Notes about one value do not describe the next.
                self.learnings.clear();
                // The next value gets its own plan, and no work is left to measure.
                self.artifacts
                    .retain(|artifact| !matches!(artifact, Artifact::Plan { .. } | Artifact::Diff(_)));
            }
            Change::Blocked { root, resume } => {
                // A waiting task fixes nothing, so no other task may wait for it.
                self.roots.clear();
                self.state = State::Blocked { root: root.clone(), resume: (**resume).clone() };
            }
            Change::BranchNamed { branch } => {
                self.seed.branch.clone_from(branch);
                // The commits stay the same; the next leg records them under the new name.
                self.artifacts.retain(|artifact| !matches!(artifact, Artifact::Branch { .. }));
            }
            Change::LabelsEdited { labels } => self.seed.wish.relabel((**labels).clone()),
            Change::RequestOpened { request } => {
                self.requests = request.number;
                self.state = State::Waiting { request: (**request).clone() };
            }
            Change::RequestAnswered { by, answer, .. } => self.hear(by, answer),
            Change::Remarked { remark } => self.conversation.push(remark.clone()),
            Change::CancelAsked { by } => {
                if let State::Working { cancel, .. } = &mut self.state {
                    *cancel = Some(by.clone());
                }
            }
            Change::Ended { end } => {
                self.roots.clear();
                self.state = State::Ended { end: end.clone() };
            }
        }
    }

    fn end_leg(&mut self, leg: u32, report: &Report) {
        if let State::Working { entry, .. } = &self.state {
            self.past.push(Past {
                number: leg,
                entry: entry.clone(),
                ending: report.ending.clone(),
                usage: report.usage.clone(),
                session: report.session.clone(),
            });
        }
        if let Ending::Rejected { failures, .. } = &report.ending
            && !failures.is_empty()
        {
            self.roots.insert(Fingerprint::of_all(failures));
        }
        if let Some(tip) = &report.tip {
            self.tip.clone_from(tip);
        }
        if let Some(base) = &report.base {
            self.onto = Some(base.clone());
        }
        if matches!(report.ending, Ending::Passed { .. })
            && let Some(proven) = &report.proven
        {
            self.proven = Some(proven.clone());
        }
        for artifact in &report.artifacts {
            let key = artifact.key();
            self.artifacts.retain(|old| old.key() != key);
            self.artifacts.push(artifact.clone());
        }
        self.learnings.extend(report.learning.clone());
        // A leg that was interrupted is done again, and an answer that resumed it resumes it again.
        if !matches!(report.ending, Ending::Held { .. } | Ending::Lost { .. }) {
            self.heard = self.conversation.len();
        }
    }

    fn hear(&mut self, by: &Actor, answer: &Answer) {
        let request = match &self.state {
            State::Waiting { request } => Some(request.clone()),
            State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => None,
        };
        let mut say = |question: Option<String>, text: &str| {
            let remark = Remark { by: by.clone(), question, text: text.to_owned(), origin: None };
            self.conversation.push(remark);
        };
        let asked = request.as_ref().map(HumanRequest::in_full);
        match answer {
            Answer::Approve => say(asked, "approved"),
            Answer::Reject { reason } => say(asked, &format!("rejected: {reason}")),
            Answer::Choose { option } => say(asked, option),
            Answer::Text { text } => say(asked, text),
            Answer::Each { answers } => {
                let questions = match request.map(|request| request.ask) {
                    Some(Ask::Question { questions }) => questions,
                    Some(_) | None => Vec::new(),
                };
                for (question, text) in questions.iter().zip(answers) {
                    say(Some(question.in_full()), text);
                }
            }
        }
    }
}
