//! Changes: the only way a task moves. Each is stored as an event; folding them again gives the task.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::definition::Definition;
use crate::fingerprint::Fingerprint;
use crate::human_request::{Answer, Ask, HumanRequest};
use crate::ids::Name;
use crate::leg::{Ending, Entry, Past, Purpose, Report};
use crate::task::{Actor, End, Remark, Root, Seed, State, Task, Tried};
use crate::time::Span;
use crate::workflow::{Begin, Workflow};

/// Something that is different from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The task exists.
    Created {
        /// What never changes about it.
        seed: Box<Seed>,
    },
    /// A new leg waits for a harness.
    LegReadied {
        /// Its number.
        leg: u32,
        /// What it is to do.
        entry: Box<Entry>,
        /// How long it waits before it may be claimed.
        delay: Span,
    },
    /// A person changed the configuration, and the task goes on with what it says now.
    DefinitionUpdated {
        /// What it runs by from the next leg on.
        definition: Box<Definition>,
        /// What is different, a line for each setting.
        difference: Vec<String>,
    },
    /// A leg is over.
    LegEnded {
        /// Its number.
        leg: u32,
        /// All it hands over.
        report: Box<Report>,
    },
    /// Something was tried again that has a budget.
    BudgetSpent {
        /// Which.
        budget: Name,
        /// How much of it is spent now.
        spent: u32,
        /// How much there is.
        limit: u32,
    },
    /// A person gave the task all its budgets anew.
    BudgetsReset,
    /// A person allowed as much money and time again as the limits say. Budgets for retries stay as they are.
    AllowanceRenewed,
    /// A value of the variation led nowhere; the work starts from the base again, with all budgets anew.
    VariationTried {
        /// Which value, and why.
        tried: Tried,
    },
    /// Another task mends the failure that this one met: it waits for that task's end.
    Blocked {
        /// Which task, and which failure.
        root: Root,
        /// What is to be done then.
        resume: Box<Entry>,
    },
    /// The work has a better description than the task's title, and its branch is called by it.
    BranchNamed {
        /// The branch.
        branch: String,
    },
    /// A person is asked.
    RequestOpened {
        /// What.
        request: Box<HumanRequest>,
    },
    /// A person answered.
    RequestAnswered {
        /// Which request.
        request: u32,
        /// Who.
        by: Actor,
        /// What they said.
        answer: Answer,
    },
    /// A person said something for the agents to read.
    Remarked {
        /// Who and what.
        remark: Remark,
    },
    /// A person wants the task to end.
    CancelAsked {
        /// Who.
        by: Actor,
    },
    /// The task is over.
    Ended {
        /// How.
        end: End,
    },
}

impl Change {
    /// A leg that waits for nothing but a harness.
    pub fn readied(leg: u32, entry: Entry) -> Self {
        Self::LegReadied { leg, entry: Box::new(entry), delay: Span::from(0) }
    }

    /// How long a readied leg waits.
    pub fn delay(&self) -> Duration {
        match self {
            Self::LegReadied { delay, .. } => delay.duration(),
            _ => Duration::ZERO,
        }
    }

    /// The change's name in the event log.
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
            Self::RequestOpened { .. } => "request_opened",
            Self::RequestAnswered { .. } => "request_answered",
            Self::Remarked { .. } => "remarked",
            Self::CancelAsked { .. } => "cancel_asked",
            Self::Ended { .. } => "task_ended",
        }
    }

    /// The leg that it is about.
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
            | Self::RequestOpened { .. }
            | Self::RequestAnswered { .. }
            | Self::Remarked { .. }
            | Self::CancelAsked { .. }
            | Self::Ended { .. } => None,
        }
    }
}

impl Task {
    /// Makes a task of its history. `None` if the history does not begin with the task's creation.
    pub fn replay<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Option<Self> {
        let mut changes = changes.into_iter();
        let Some(Change::Created { seed }) = changes.next() else { return None };
        let mut task = Self::new((**seed).clone());
        for change in changes {
            task.apply(change);
        }
        Some(task)
    }

    /// The value that the workflow's variation has for this task now.
    pub fn variation_value(&self, workflow: &Workflow) -> Option<String> {
        let variation = workflow.variation.as_ref()?;
        let index = (variation.first + self.tried.len()) % variation.values.len().max(1);
        variation.values.get(index).cloned()
    }

    /// Whether it ended because every value of the variation led nowhere.
    pub fn is_exhausted(&self) -> bool {
        let ended = matches!(self.state, State::Ended { end: End::NoImprovement | End::Failed { .. } });
        ended && self.tried.last().is_some_and(|tried| tried.left == 0)
    }

    /// The commit that a leg of this task begins from.
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

    /// Makes one change. Changes come from [`crate::decide::decide`], which has seen that they fit; this only carries
    /// them out, so it never fails, and on a history from elsewhere it does nothing worse than describe it.
    pub fn apply(&mut self, change: &Change) {
        match change {
            // What a task runs by is kept beside it.
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
                // After all values were tried in vain, trying again means trying all of them again.
                if self.is_exhausted() {
                    self.tried.clear();
                }
            }
            Change::AllowanceRenewed => self.paid_for = self.past.len(),
            Change::VariationTried { tried } => {
                self.tried.push(tried.clone());
                self.tip = self.base().to_owned();
                self.proven = None;
                // What one value was tried in vain says nothing about the next.
                self.spent.clear();
                for past in &mut self.past {
                    past.session = None;
                }
                // What was learnt about one value is no account of the next.
                self.learnings.clear();
                // The next value follows a plan of its own, and nothing of the work is left to measure.
                self.artifacts
                    .retain(|artifact| !matches!(artifact, Artifact::Plan { .. } | Artifact::Diff(_)));
            }
            Change::Blocked { root, resume } => {
                // Whoever waits mends nothing, so nobody waits for it.
                self.roots.clear();
                self.state = State::Blocked { root: root.clone(), resume: (**resume).clone() };
            }
            Change::BranchNamed { branch } => {
                self.seed.branch.clone_from(branch);
                // Its commits are the same; they are found under the new name from the next leg on.
                self.artifacts.retain(|artifact| !matches!(artifact, Artifact::Branch { .. }));
            }
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
