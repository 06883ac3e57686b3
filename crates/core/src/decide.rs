//! Decides how a task moves. All changes of tasks come from here.
//!
//! [`decide`] takes a task, its workflow and an input, and returns the resulting changes, or an error if the input is
//! not possible in the task's state. It is total and pure. `tests/decide` shows that no sequence of inputs leads to an
//! illegal state, that budgets bound the number of legs between two human decisions, and that replaying the changes
//! gives the same task.

use crate::artifact::Artifact;
use crate::branch;
use crate::candidate::Candidate;
use crate::change::Change;
use crate::delivery::Comment;
use crate::failure::{Failure, kind};
use crate::fingerprint::Fingerprint;
use crate::human_request::{self, Answer, Ask, HumanRequest};
use crate::ids::{Name, TaskId};
use crate::labels::Edit;
use crate::leg::{Ending, Entry, Purpose, Report};
use crate::outcome::{self, Outcome, Source};
use crate::task::{Actor, End, Root, State, Task};
use crate::time::Span;
use crate::workflow::{Work, Workflow};

mod delivery;
mod moves;
mod person;

/// Delay before a failed leg is retried. It doubles with every failure of the same kind: if something is busy or
/// restarting, an immediate retry would fail again.
const RETRY_DELAY: Span = Span::secs(2);

/// The budget spent by a rejection without a named failure.
const UNNAMED: &str = "gate";

/// An input to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The task was created.
    Begin,
    /// The harness of a leg finished it.
    LegEnded {
        /// Leg number.
        leg: u32,
        /// Result of the leg.
        report: Box<Report>,
    },
    /// People commented on the task's pull request, or checks failed there.
    Feedback {
        /// The comments. Known ones change nothing.
        comments: Vec<Comment>,
    },
    /// The task that this one waits for has ended or is fixing something else.
    Release,
    /// A person cancels the task.
    Cancel {
        /// Who cancels it.
        by: Actor,
    },
    /// A person retries the task, with all budgets reset.
    Retry {
        /// Who retries it.
        by: Actor,
        /// Stage to retry; `None` retries the current stage or starts over.
        stage: Option<Name>,
        /// Note for the agent.
        note: Option<String>,
    },
    /// A person edits the labels of a task that has not ended.
    Edit {
        /// The edit.
        edit: Edit,
    },
    /// A person merges the delivered work of a finished task into its base branch.
    Merge,
    /// A person answers an open human request.
    Answer {
        /// Number of the human request.
        request: u32,
        /// Who answers.
        by: Actor,
        /// The answer.
        answer: Answer,
    },
}

/// An input that is not possible for the task in its state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The input makes no sense in the task's state.
    #[error("it is {state} and cannot {what}")]
    State {
        /// Description of the input.
        what: &'static str,
        /// [`State::word`].
        state: &'static str,
    },
    /// The input is about a leg that is not the current one.
    #[error("leg {leg} is not the task's current leg")]
    NotCurrent {
        /// Leg number.
        leg: u32,
    },
    /// The input answers a human request that is not open.
    #[error("request {0} is not open")]
    NotOpen(u32),
    /// The human request does not accept this kind of answer.
    #[error("this request takes {takes}")]
    Answer {
        /// What it accepts.
        takes: String,
    },
    /// The workflow does not handle comments on its pull request.
    #[error("the workflow does not say what follows from comments on its request")]
    NoFeedback,
    /// acquit itself sets this metadata.
    #[error("acquit itself sets the metadata `{0}`")]
    Reserved(String),
    /// The workflow has no such stage.
    #[error("the workflow has no stage `{0}`")]
    NoStage(Name),
}

/// Decides without regard to other tasks.
pub fn decide(task: &Task, workflow: &Workflow, input: Input) -> Result<Vec<Change>, Illegal> {
    decide_among(task, workflow, input, &|_| None)
}

/// Decides with regard to other tasks. `root` returns the task of the project that is already fixing a failure, if any.
/// A task that hits the same failure waits for it.
pub fn decide_among(
    task: &Task,
    workflow: &Workflow,
    input: Input,
    root: &dyn Fn(&Fingerprint) -> Option<TaskId>,
) -> Result<Vec<Change>, Illegal> {
    let mut next = Next { task: task.clone(), workflow, changes: Vec::new(), root };
    next.take(input)?;
    Ok(next.changes)
}

/// An exhausted budget, and the question to ask a person if the workflow has no transition for it.
struct Empty {
    budget: Name,
    question: String,
}

/// The changes so far, and the task after these changes.
struct Next<'a> {
    task: Task,
    workflow: &'a Workflow,
    changes: Vec<Change>,
    root: &'a dyn Fn(&Fingerprint) -> Option<TaskId>,
}

impl Next<'_> {
    fn push(&mut self, change: Change) {
        self.task.apply(&change);
        self.changes.push(change);
    }

    fn take(&mut self, input: Input) -> Result<(), Illegal> {
        match (input, self.task.state.clone()) {
            (Input::Begin, State::New) => {
                self.enter(Entry { stage: self.workflow.start.clone(), purpose: Purpose::Work });
                Ok(())
            }
            (Input::LegEnded { leg, report }, State::Working { leg: current, entry, cancel }) => {
                current_leg(leg, current)?;
                self.push(Change::LegEnded { leg, report: report.clone() });
                if let Some(by) = cancel {
                    self.push(Change::Ended { end: End::Cancelled { by } });
                } else {
                    self.name_branch(&report.ending);
                    self.after_leg(&entry, report.ending);
                }
                Ok(())
            }
            (Input::Cancel { .. }, State::Working { cancel: Some(_), .. }) => Ok(()),
            (Input::Cancel { by }, State::Working { .. }) => {
                self.push(Change::CancelAsked { by });
                Ok(())
            }
            (Input::Release, State::Blocked { resume, .. }) => {
                match resume.purpose {
                    // No agent starts, so no approval is needed.
                    Purpose::Recheck { .. } | Purpose::Merge => self.ready(resume, Span::from(0)),
                    Purpose::Work | Purpose::Fix { .. } | Purpose::Resolve { .. } => self.enter(resume),
                }
                Ok(())
            }
            (Input::Feedback { comments }, State::Ended { end: End::Done } | State::Waiting { .. }) => {
                self.feedback(comments)
            }
            (Input::Cancel { by }, State::Waiting { .. } | State::Blocked { .. }) => {
                self.push(Change::Ended { end: End::Cancelled { by } });
                Ok(())
            }
            (
                Input::Retry { by, stage, note },
                State::Waiting { .. } | State::Blocked { .. } | State::Ended { .. },
            ) if self.task.state != (State::Ended { end: End::Done }) => self.retry(by, stage, note),
            (Input::Merge, State::Ended { end: End::Done }) => self.merge(),
            (Input::Edit { edit }, state) if !matches!(state, State::New | State::Ended { .. }) => {
                self.edit(&edit)
            }
            (Input::Answer { request, by, answer }, State::Waiting { request: open }) => {
                if request != open.number {
                    return Err(Illegal::NotOpen(request));
                }
                self.answer(&open, by, answer)
            }
            (input, state) => Err(Illegal::State { what: input.what(), state: state.word() }),
        }
    }

    /// Edits the labels. An edit that changes nothing leaves no trace.
    fn edit(&mut self, edit: &Edit) -> Result<(), Illegal> {
        if let Some(name) = edit.reserved() {
            return Err(Illegal::Reserved(name.to_owned()));
        }
        let before = self.task.seed.wish.labels();
        let labels = edit.of(before.clone());
        if labels != before {
            self.push(Change::LabelsEdited { labels: Box::new(labels) });
        }
        Ok(())
    }

    /// Renames the task's branch after the candidate that an analyst chose, unless the branch is already published.
    fn name_branch(&mut self, ending: &Ending) {
        let chosen = ending.passed().and_then(|outcome| Candidate::of(&outcome.payload));
        let seen = |artifact: &Artifact| {
            matches!(
                artifact,
                Artifact::Branch { published: true, .. } | Artifact::Pushed { .. } | Artifact::PullRequest(_)
            )
        };
        if let Some(chosen) = chosen
            && !self.task.artifacts.iter().any(seen)
            && let Some(branch) = branch::described(&self.task, &chosen.title)
        {
            self.push(Change::BranchNamed { branch });
        }
    }

    /// Decides what follows the end of a leg.
    fn after_leg(&mut self, entry: &Entry, ending: Ending) {
        match ending {
            Ending::Passed { outcome } => self.passed(entry, &outcome),
            Ending::Rejected { outcome, failures } => {
                if self.give_way(entry, &outcome, &failures) {
                    return;
                }
                if self.rejected(entry, &failures) {
                    return;
                }
                // An agent could only do harm here. If there are other failures, it fixes those first.
                let is_asked = |failure: &Failure| kind::ASKED.contains(&failure.kind.as_str());
                if !failures.is_empty() && failures.iter().all(is_asked) {
                    let words: Vec<String> = failures
                        .iter()
                        .map(|failure| format!("gate {}: {}", failure.gate, failure.message))
                        .collect();
                    let resume = match &entry.purpose {
                        Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => {
                            Entry { stage: entry.stage.clone(), purpose: Purpose::Recheck { outcome } }
                        }
                        Purpose::Fix { .. } | Purpose::Resolve { .. } => entry.clone(),
                    };
                    return self.ask(entry, Ask::Stuck, words.join("\n"), resume);
                }
                let mut kinds: Vec<Name> = failures.iter().map(|failure| failure.kind.clone()).collect();
                kinds.sort();
                kinds.dedup();
                if kinds.is_empty() {
                    // Every rejection must spend a budget, or rejections could repeat forever.
                    kinds.push(Name::literal(UNNAMED));
                }
                let again = match (&entry.purpose, self.fix_stage(entry)) {
                    // A rejected fix continues to fix the same stage.
                    (Purpose::Fix { of, outcome, .. }, _) => Entry {
                        stage: entry.stage.clone(),
                        purpose: Purpose::Fix { of: of.clone(), outcome: outcome.clone(), failures },
                    },
                    // A rejected conflict resolution is retried.
                    (Purpose::Resolve { .. }, _) => entry.clone(),
                    (Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge, Some(fix)) => Entry {
                        stage: fix,
                        purpose: Purpose::Fix { of: entry.stage.clone(), outcome, failures },
                    },
                    // The agent retries; its prompt shows what was rejected.
                    (Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge, None) => {
                        Entry { stage: entry.stage.clone(), purpose: Purpose::Work }
                    }
                };
                match self.spend(&kinds) {
                    Ok(()) => self.enter(again),
                    Err(Empty { budget, question }) => {
                        let reason = question.clone();
                        self.give_up(entry, &budget, &reason, question, again);
                    }
                }
            }
            Ending::Failed { kind, reason } => self.failed(entry, &kind, &reason),
            Ending::TimedOut { reason } => self.failed(entry, &Name::literal(kind::LIMIT), &reason),
            Ending::Lost { why } => self.failed(entry, &Name::literal(kind::LOST), &why),
            Ending::Conflict { onto, hunks, reason } => self.conflict(entry, onto, hunks, reason),
            Ending::Held { kind, wait, reason } => self.held(entry, &kind, wait, &reason),
            Ending::Cancelled => {
                self.push(Change::Ended { end: End::Cancelled { by: Actor::Supervisor } });
            }
        }
    }

    /// Follows the workflow's transition for work that a check rejected. Returns whether there is one.
    fn rejected(&mut self, entry: &Entry, failures: &[Failure]) -> bool {
        let stage = self.workflow.stage(entry.stage.as_str());
        if !stage.is_some_and(|stage| stage.work == Work::Check) {
            return false;
        }
        let Some(transition) = self.transition(entry, &Name::literal(outcome::REJECTED)) else {
            return false;
        };
        let summary = self.task.past.last().and_then(|past| past.ending.trouble()).unwrap_or_default();
        let kind = failures.first().map_or_else(|| Name::literal(UNNAMED), |failure| failure.kind.clone());
        let outcome = Outcome {
            name: Name::literal(outcome::REJECTED),
            payload: serde_json::json!({ "kind": kind, "summary": summary }),
            source: Source::Harness,
        };
        self.follow(entry, &transition, &outcome);
        true
    }

    /// Waits for the task that is fixing the same failure. Returns whether there is one.
    fn give_way(&mut self, entry: &Entry, outcome: &Outcome, failures: &[Failure]) -> bool {
        let budget = Name::literal(kind::BLOCKED);
        let fingerprint = Fingerprint::of_all(failures);
        let root = (self.root)(&fingerprint).filter(|root| *root != self.task.id() && !failures.is_empty());
        let Some(task) = root else { return false };
        if self.spend(std::slice::from_ref(&budget)).is_err() {
            return false;
        }
        let resume = match &entry.purpose {
            // The work may pass unchanged once the other task ends.
            Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => {
                Entry { stage: entry.stage.clone(), purpose: Purpose::Recheck { outcome: outcome.clone() } }
            }
            Purpose::Fix { .. } | Purpose::Resolve { .. } => entry.clone(),
        };
        self.push(Change::Blocked { root: Root { task, fingerprint }, resume: Box::new(resume) });
        true
    }

    fn passed(&mut self, entry: &Entry, outcome: &Outcome) {
        // A recheck that passed is finished; what follows continues with the stage's own work.
        let worked = Entry { stage: entry.stage.clone(), purpose: Purpose::Work };
        let entry = if matches!(entry.purpose, Purpose::Recheck { .. }) { &worked } else { entry };
        if let Some(transition) = self.transition(entry, &outcome.name) {
            self.follow(entry, &transition, outcome);
        } else if outcome.name == *outcome::NEEDS_INPUT {
            let questions = human_request::questions(&outcome.payload);
            let question = human_request::in_words(&questions);
            let question =
                question.unwrap_or_else(|| "the agent needs input, but did not say which".to_owned());
            self.ask(entry, Ask::Question { questions }, question, entry.clone());
        } else {
            let question = format!("stage {} ended `{}`, which leads nowhere", entry.stage, outcome.name);
            self.ask(entry, Ask::Stuck, question, entry.clone());
        }
    }

    /// Handles a leg without a result: retry while the budget lasts, then the `failed` transition, then a person.
    fn failed(&mut self, entry: &Entry, kind: &Name, reason: &str) {
        if kind::ASKED.contains(&kind.as_str()) {
            // Every other transition would hit the same problem, so retry nothing and spend nothing.
            return self.ask(entry, Ask::Stuck, format!("stage {}: {reason}", entry.stage), entry.clone());
        }
        let (spent, limit) = self.used(kind);
        if spent < limit {
            self.push(Change::BudgetSpent { budget: kind.clone(), spent: spent + 1, limit });
            // A lost harness says nothing about the work, so there is no reason to wait.
            let patience = if *kind == *kind::LOST { 0 } else { u64::from(RETRY_DELAY) << spent.min(8) };
            return self.ready(entry.clone(), Span::from(patience));
        }
        let question = format!("stage {} failed ({kind}): {reason}", entry.stage);
        self.give_up(entry, kind, reason, question, entry.clone());
    }

    /// Retries later because the provider accepts no work. Spends none of the failure budgets.
    fn held(&mut self, entry: &Entry, kind: &Name, wait: Span, reason: &str) {
        match self.spend(std::slice::from_ref(kind)) {
            Ok(()) => self.ready(entry.clone(), wait),
            Err(Empty { question, .. }) => self.give_up(entry, kind, reason, question, entry.clone()),
        }
    }

    /// Handles an exhausted budget: the `failed` transition if the stage has one, else a person.
    fn give_up(&mut self, entry: &Entry, kind: &Name, reason: &str, question: String, resume: Entry) {
        if let Some(transition) = self.transition(entry, &Name::literal(outcome::FAILED)) {
            let outcome = Outcome {
                name: Name::literal(outcome::FAILED),
                payload: serde_json::json!({ "kind": kind, "summary": reason }),
                source: Source::Harness,
            };
            self.follow(entry, &transition, &outcome);
        } else {
            self.ask(entry, Ask::Budget { budget: kind.clone() }, question, resume);
        }
    }

    fn ready(&mut self, entry: Entry, delay: Span) {
        let leg = self.task.legs + 1;
        self.push(Change::LegReadied { leg, entry: Box::new(entry), delay });
    }

    /// Spends one of each budget, or nothing if any of them is exhausted.
    fn spend(&mut self, budgets: &[Name]) -> Result<(), Empty> {
        if let Some(empty) = budgets.iter().find(|budget| self.used(budget).0 >= self.used(budget).1) {
            let last = self.task.past.last();
            let how = match last.map(|past| (&past.ending, past.ending.trouble())) {
                Some((Ending::Passed { outcome }, _)) => format!("ended `{}`", outcome.name),
                Some((_, trouble)) => trouble.unwrap_or_default(),
                None => "cannot begin".to_owned(),
            };
            let stage = last.map_or("the task", |past| past.entry.stage.as_str());
            let limit = self.used(empty).1;
            let question = format!("stage {stage}: {how}, and the budget for {empty} ({limit}) is spent");
            return Err(Empty { budget: empty.clone(), question });
        }
        for budget in budgets {
            let (spent, limit) = self.used(budget);
            self.push(Change::BudgetSpent { budget: budget.clone(), spent: spent + 1, limit });
        }
        Ok(())
    }

    /// Returns how much of a budget is spent, and its limit.
    fn used(&self, budget: &Name) -> (u32, u32) {
        let spent = self.task.spent.get(budget).copied().unwrap_or(0);
        (spent, self.workflow.budgets.get(budget).copied().unwrap_or(0))
    }

    fn ask(&mut self, entry: &Entry, ask: Ask, question: String, resume: Entry) {
        let number = self.task.requests + 1;
        let request = HumanRequest { number, stage: entry.stage.clone(), ask, question, resume };
        self.push(Change::RequestOpened { request: Box::new(request) });
    }
}

impl Input {
    fn what(&self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::LegEnded { .. } => "end a leg",
            Self::Release => "be released",
            Self::Feedback { .. } => "take up comments",
            Self::Cancel { .. } => "be cancelled",
            Self::Retry { .. } => "be retried",
            Self::Merge => "be merged",
            Self::Edit { .. } => "be edited",
            Self::Answer { .. } => "be answered",
        }
    }
}

fn current_leg(leg: u32, current: u32) -> Result<(), Illegal> {
    if leg == current { Ok(()) } else { Err(Illegal::NotCurrent { leg }) }
}
