//! What follows from what: the one function by which tasks move.
//!
//! [`decide`] looks at a task, at what it runs by and at something that happened, and returns the changes that follow, or
//! says that this cannot happen to a task in that state. It is total and pure; `tests/decide` shows that no sequence
//! of inputs leads to an illegal state, that the number of legs without a person in between is bounded by the budgets,
//! and that replaying the changes gives the same task.

use crate::artifact::Artifact;
use crate::branch;
use crate::candidate::Candidate;
use crate::change::Change;
use crate::delivery::Comment;
use crate::failure::{Failure, kind};
use crate::fingerprint::Fingerprint;
use crate::human_request::{self, Answer, Ask, HumanRequest};
use crate::ids::{Name, TaskId};
use crate::leg::{Ending, Entry, Purpose, Report};
use crate::outcome::{self, Outcome, Source};
use crate::task::{Actor, End, Root, State, Task};
use crate::time::Span;
use crate::workflow::{Work, Workflow};

mod delivery;
mod moves;
mod person;

/// A leg that failed is tried again after this, doubled with every failure of the same kind: what failed just now because
/// something is busy or restarting would fail again at once.
const RETRY_DELAY: Span = Span::secs(2);

/// The budget that a rejection spends which names no failure.
const UNNAMED: &str = "gate";

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// It was created.
    Begin,
    /// The harness of a leg finished it.
    LegEnded {
        /// The leg's number.
        leg: u32,
        /// What it hands over.
        report: Box<Report>,
    },
    /// People commented on its request, or checks failed there.
    Feedback {
        /// What was said; what is known already changes nothing.
        comments: Vec<Comment>,
    },
    /// The task that it waited for is over, or mends something else.
    Release,
    /// A person wants it to end.
    Cancel {
        /// Who.
        by: Actor,
    },
    /// A person wants it to be tried again, with all budgets anew.
    Retry {
        /// Who.
        by: Actor,
        /// At which stage; `None` where it stands, or at the start.
        stage: Option<Name>,
        /// Words for the agent.
        note: Option<String>,
    },
    /// A person wants the delivered work of a task that is done in its base branch.
    Merge,
    /// A person answered an open request.
    Answer {
        /// Which.
        request: u32,
        /// Who.
        by: Actor,
        /// What they said.
        answer: Answer,
    },
}

/// Something that cannot happen to a task as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The task is in a state in which this has no meaning.
    #[error("{what} is not possible while the task is {state}")]
    State {
        /// What was to happen.
        what: &'static str,
        /// [`State::word`].
        state: &'static str,
    },
    /// About a leg that is not the task's current one.
    #[error("leg {leg} is not the task's current leg")]
    NotCurrent {
        /// The leg's number.
        leg: u32,
    },
    /// About a request that is not open.
    #[error("request {0} is not open")]
    NotOpen(u32),
    /// An answer that the request does not take.
    #[error("this request takes {takes}")]
    Answer {
        /// What it takes.
        takes: String,
    },
    /// Comments on a request that the workflow has no way for.
    #[error("the workflow does not say what follows from comments on its request")]
    NoFeedback,
    /// A stage that the workflow does not have.
    #[error("the workflow has no stage `{0}`")]
    NoStage(Name),
}

/// What follows, if no other task matters.
pub fn decide(task: &Task, workflow: &Workflow, input: Input) -> Result<Vec<Change>, Illegal> {
    decide_among(task, workflow, input, &|_| None)
}

/// What follows. `root` says which task of the project mends a failure already, if one does; whoever meets it too waits for that
/// one.
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

/// A budget that has nothing left, and the question to a person that follows if nobody else knows what to do.
struct Empty {
    budget: Name,
    question: String,
}

/// The changes so far, and the task as they have made it.
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
                    // No agent begins anything, so nobody is asked.
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
            (Input::Answer { request, by, answer }, State::Waiting { request: open }) => {
                if request != open.number {
                    return Err(Illegal::NotOpen(request));
                }
                self.answer(&open, by, answer)
            }
            (input, state) => Err(Illegal::State { what: input.what(), state: state.word() }),
        }
    }

    /// Calls the task's branch by what an analyst chose, as long as nobody else has seen the branch.
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

    /// What follows from the way a leg ended.
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
                // An agent that is told of it could only do harm. Where there is more, it mends the rest first.
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
                    // A rejection that names nothing must not be free, or it could go on for ever.
                    kinds.push(Name::literal(UNNAMED));
                }
                let again = match (&entry.purpose, self.fix_stage(entry)) {
                    // A fix that is itself rejected by gates mends on, for the same stage.
                    (Purpose::Fix { of, outcome, .. }, _) => Entry {
                        stage: entry.stage.clone(),
                        purpose: Purpose::Fix { of: of.clone(), outcome: outcome.clone(), failures },
                    },
                    // So does a resolution.
                    (Purpose::Resolve { .. }, _) => entry.clone(),
                    (Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge, Some(fix)) => Entry {
                        stage: fix,
                        purpose: Purpose::Fix { of: entry.stage.clone(), outcome, failures },
                    },
                    // The agent has another try; its context shows what was rejected.
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

    /// Follows what the workflow says of work that a check rejects, if it says something; says whether it did.
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

    /// Waits for the task that mends the same failure, if there is one; says whether there was.
    fn give_way(&mut self, entry: &Entry, outcome: &Outcome, failures: &[Failure]) -> bool {
        let budget = Name::literal(kind::BLOCKED);
        let fingerprint = Fingerprint::of_all(failures);
        let root = (self.root)(&fingerprint).filter(|root| *root != self.task.id() && !failures.is_empty());
        let Some(task) = root else { return false };
        if self.spend(std::slice::from_ref(&budget)).is_err() {
            return false;
        }
        let resume = match &entry.purpose {
            // What was done may pass as it is, once the other task is over.
            Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => {
                Entry { stage: entry.stage.clone(), purpose: Purpose::Recheck { outcome: outcome.clone() } }
            }
            Purpose::Fix { .. } | Purpose::Resolve { .. } => entry.clone(),
        };
        self.push(Change::Blocked { root: Root { task, fingerprint }, resume: Box::new(resume) });
        true
    }

    fn passed(&mut self, entry: &Entry, outcome: &Outcome) {
        // A recheck that passed has done its part: whoever goes on from here goes on with the stage's own work.
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

    /// A leg without a result: again while the budget lasts, then the `failed` transition, then a person.
    fn failed(&mut self, entry: &Entry, kind: &Name, reason: &str) {
        if kind::ASKED.contains(&kind.as_str()) {
            // No other way of the workflow gets on without it either, so nothing is tried and nothing is spent.
            return self.ask(entry, Ask::Stuck, format!("stage {}: {reason}", entry.stage), entry.clone());
        }
        let (spent, limit) = self.used(kind);
        if spent < limit {
            self.push(Change::BudgetSpent { budget: kind.clone(), spent: spent + 1, limit });
            // A lost harness says nothing about the work, so there is nothing to wait for.
            let patience = if *kind == *kind::LOST { 0 } else { u64::from(RETRY_DELAY) << spent.min(8) };
            return self.ready(entry.clone(), Span::from(patience));
        }
        let question = format!("stage {} failed ({kind}): {reason}", entry.stage);
        self.give_up(entry, kind, reason, question, entry.clone());
    }

    /// The provider accepts no work: later again, spending none of the budgets for failures.
    fn held(&mut self, entry: &Entry, kind: &Name, wait: Span, reason: &str) {
        match self.spend(std::slice::from_ref(kind)) {
            Ok(()) => self.ready(entry.clone(), wait),
            Err(Empty { question, .. }) => self.give_up(entry, kind, reason, question, entry.clone()),
        }
    }

    /// A budget is spent: the `failed` transition, if the stage has one, else a person.
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

    /// Spends one of each budget; or nothing, if one of them is empty.
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

    /// How much of a budget is spent, and how much there is.
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
            Self::Begin => "beginning it",
            Self::LegEnded { .. } => "ending a leg",
            Self::Release => "releasing it",
            Self::Feedback { .. } => "taking up comments",
            Self::Cancel { .. } => "cancelling",
            Self::Retry { .. } => "trying again",
            Self::Merge => "merging",
            Self::Answer { .. } => "answering",
        }
    }
}

fn current_leg(leg: u32, current: u32) -> Result<(), Illegal> {
    if leg == current { Ok(()) } else { Err(Illegal::NotCurrent { leg }) }
}
