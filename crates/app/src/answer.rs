//! Requests that wait for a person, and replies to them.

use acquit_core::change::Change;
use acquit_core::check::review::{Found, findings};
use acquit_core::conflict::Hunk;
use acquit_core::decide::{Illegal, Input, decide};
use acquit_core::human_request::{Answer, Ask, Kind, Question};
use acquit_core::ids::TaskId;
use acquit_core::leg::{Ending, Purpose};
use acquit_core::store::{self, Filter, Store};
use acquit_core::task::{Actor, End, State, Task};
use acquit_core::workflow::Workflow;

use crate::history::history;
use crate::reload::Renewal;
use crate::{App, Error};

/// A reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// One text for the whole request, or one for each question. If there are options, a name or a number selects one.
    Words(Vec<String>),
    /// Approval.
    Approve,
    /// Rejection with the reason.
    Reject(String),
    /// This answer as it is, without interpreting text.
    Exactly(Answer),
}

/// State of the request that a person saw when replying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of the request.
    pub request: u32,
    /// Commit of the work, if it was shown.
    pub commit: Option<String>,
}

/// Result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To a stage.
    Stage {
        /// Name of the stage.
        stage: String,
        /// Current and maximum round, if going there spends a budget.
        round: Option<(u32, u32)>,
    },
    /// The task completes.
    Done,
    /// The task ends in failure.
    Ends,
    /// A person is asked again.
    Asks,
}

/// Returns where an answer to the open request would lead; `None` if the request does not accept it.
pub fn leads(task: &Task, workflow: &Workflow, answer: Answer) -> Option<Leads> {
    let State::Waiting { request } = &task.state else { return None };
    let input = Input::Answer { request: request.number, by: Actor::Supervisor, answer };
    let changes = decide(task, workflow, input).ok()?;
    let round = changes.iter().find_map(|change| match change {
        Change::BudgetSpent { spent, limit, .. } => Some((*spent, *limit)),
        _ => None,
    });
    changes.iter().rev().find_map(|change| match change {
        Change::LegReadied { entry, .. } => Some(Leads::Stage { stage: entry.stage.to_string(), round }),
        Change::RequestOpened { .. } => Some(Leads::Asks),
        Change::Ended { end: End::Done } => Some(Leads::Done),
        Change::Ended { .. } => Some(Leads::Ends),
        _ => None,
    })
}

/// Returns the conflict that the open request of a task is about: the commit of the base branch, and both sides of each
/// place. `None` if the request is about something else.
pub fn conflict(task: &Task) -> Option<(&str, &[Hunk])> {
    let State::Waiting { request } = &task.state else { return None };
    if let Purpose::Resolve { onto, hunks, .. } = &request.resume.purpose {
        return Some((onto, hunks));
    }
    match &task.past.last()?.ending {
        Ending::Conflict { onto, hunks, .. } => Some((onto, hunks)),
        _ => None,
    }
}

/// Returns what the newest review of the task found, if that is why it is where it is.
pub fn review(task: &Task) -> Vec<Found> {
    let newest = task.past.iter().rev().find_map(|past| match &past.ending {
        Ending::Passed { outcome } | Ending::Rejected { outcome, .. } => {
            Some(findings(&outcome.payload).unwrap_or_default()).filter(|found| !found.is_empty())
        }
        _ => None,
    });
    newest.unwrap_or_default()
}

impl Reply {
    fn answer(self, ask: Option<&Ask>) -> Answer {
        match self {
            Self::Words(words) => match words.as_slice() {
                [only] => understood(ask, only),
                several => Answer::Each { answers: each(ask, several) },
            },
            Self::Approve => match ask.and_then(yes_or_no) {
                Some(_) => Answer::Text { text: "yes".to_owned() },
                None => Answer::Approve,
            },
            Self::Reject(reason) => match ask.and_then(yes_or_no) {
                Some(_) => Answer::Text { text: format!("no: {reason}") },
                None => Answer::Reject { reason },
            },
            Self::Exactly(answer) => answer,
        }
    }
}

impl App {
    /// Returns at most `limit` tasks that wait for a person, newest first, and whether there are more. Without a
    /// project, searches all.
    pub fn inbox(
        &self,
        store: &mut dyn Store,
        project: Option<String>,
        below: Option<TaskId>,
        limit: u32,
    ) -> Result<(Vec<Task>, bool), Error> {
        let most = limit.saturating_add(1).min(100_000);
        let mut found = Vec::new();
        // A task before an irreversible stage is `blocked`, but waits for a person as well.
        for state in ["waiting", "blocked"] {
            let (project, state) = (project.clone(), Some(state.to_owned()));
            found.extend(store.list(&Filter { project, state, below, limit: most, ..Filter::default() })?);
        }
        found.sort_by_key(|summary| std::cmp::Reverse(summary.id));
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let mut tasks = Vec::new();
        for summary in found {
            let task = match store.task(summary.id) {
                // Skip a task that cannot be read: the others can still be answered.
                Err(store::Error::Corrupt { .. }) => continue,
                task => task?,
            };
            // Someone may have answered since the list was read.
            tasks.extend(Some(task).filter(|task| matches!(task.state, State::Waiting { .. })));
        }
        Ok((tasks, more))
    }

    /// Replies to the open request of a task. The task continues with the current configuration, unless `pinned`.
    pub fn reply(
        &self,
        store: &mut dyn Store,
        id: TaskId,
        reply: Reply,
        pinned: bool,
    ) -> Result<Task, Error> {
        let task = store.task(id)?;
        self.reply_as_of(store, &task, reply, pinned)
    }

    /// Like [`App::reply`], for a person who saw the request with this number. If it is no longer open, nothing is
    /// answered.
    pub fn reply_to(
        &self,
        store: &mut dyn Store,
        id: TaskId,
        number: u32,
        reply: Reply,
    ) -> Result<Task, Error> {
        let task = store.task(id)?;
        match &task.state {
            State::Waiting { request } if request.number == number => {
                self.reply_as_of(store, &task, reply, false)
            }
            _ => Err(why_closed(store, id, number)?),
        }
    }

    /// Like [`App::reply_to`], for a person who also saw the work at a commit. If the work has changed, nothing is
    /// answered.
    pub fn reply_seen(
        &self,
        store: &mut dyn Store,
        id: TaskId,
        seen: &Seen,
        reply: Reply,
    ) -> Result<Task, Error> {
        let task = store.task(id)?;
        match &seen.commit {
            Some(commit) if *commit != task.tip && matches!(task.state, State::Waiting { .. }) => {
                Err(Error::WorkChanged { task: id, seen: commit.clone(), now: task.tip })
            }
            _ => self.reply_to(store, id, seen.request, reply),
        }
    }

    fn reply_as_of(
        &self,
        store: &mut dyn Store,
        task: &Task,
        reply: Reply,
        pinned: bool,
    ) -> Result<Task, Error> {
        let id = task.id();
        let (request, ask) = match &task.state {
            State::Waiting { request } => (request.number, Some(&request.ask)),
            State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => (0, None),
        };
        let refuses = matches!(reply, Reply::Reject(_));
        let answer = reply.answer(ask);
        let pinned = pinned || refuses || matches!(answer, Answer::Reject { .. });
        let input = Input::Answer { request, by: self.person(), answer };
        let renewal = Renewal { pinned, ..Renewal::default() };
        self.decide_with(store, id, Some(&input), &renewal)
    }
}

/// Returns why a request no longer accepts an answer: someone else answered it, or it was closed without one.
pub fn why_closed(store: &mut dyn Store, task: TaskId, request: u32) -> Result<Error, Error> {
    let found = history(store, task)?.answers.into_iter().rev().find(|known| known.request == request);
    Ok(match found {
        Some(known) => Error::Answered { task, request, by: known.by.to_string(), answer: known.answer },
        None => Error::Illegal { task, source: Illegal::NotOpen(request) },
    })
}

/// Returns one answer for each question: the text, or an option by its name or number.
fn each(ask: Option<&Ask>, words: &[String]) -> Vec<String> {
    let questions = match ask {
        Some(Ask::Question { questions }) => questions.as_slice(),
        Some(_) | None => &[],
    };
    let one = |(at, words): (usize, &String)| {
        let alone = |question: &Question| Ask::Question { questions: vec![question.clone()] };
        match questions.get(at).map(|question| understood(Some(&alone(question)), words)) {
            Some(Answer::Choose { option }) => option,
            Some(_) | None => words.clone(),
        }
    };
    words.iter().enumerate().map(one).collect()
}

/// Interprets a text as the answer to a request. If there are options, a name or a number selects one.
fn understood(ask: Option<&Ask>, words: &str) -> Answer {
    let text = || Answer::Text { text: words.to_owned() };
    let chosen = |options: Vec<String>| {
        let number = words.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = || options.iter().find(|option| option.eq_ignore_ascii_case(words.trim()));
        named().or_else(|| options.get(number?)).cloned()
    };
    match ask {
        Some(Ask::Question { questions }) => match questions.as_slice() {
            [only] => {
                let names = only.options.iter().map(|option| option.name.clone()).collect();
                // A number that matches no option is a mistake, not a text.
                let number = !only.options.is_empty() && words.trim().parse::<u64>().is_ok();
                let other =
                    || if number { Answer::Choose { option: words.trim().to_owned() } } else { text() };
                chosen(names).map_or_else(other, |option| Answer::Choose { option })
            }
            [] | [_, _, ..] => text(),
        },
        // Any other text is rejected with a message that names the options.
        Some(Ask::Choice { options }) => {
            let names = options.iter().map(ToString::to_string).collect();
            Answer::Choose { option: chosen(names).unwrap_or_else(|| words.trim().to_owned()) }
        }
        Some(Ask::Stage { outcomes }) => {
            let names = outcomes.iter().map(ToString::to_string).collect();
            Answer::Choose { option: chosen(names).unwrap_or_else(|| words.trim().to_owned()) }
        }
        Some(Ask::Approval { .. } | Ask::Budget { .. } | Ask::Stuck) | None => text(),
    }
}

/// Returns the question, if it is a single yes/no question.
fn yes_or_no(ask: &Ask) -> Option<&Question> {
    match ask {
        Ask::Question { questions } => match questions.as_slice() {
            [only] if only.kind == Kind::YesNo => Some(only),
            _ => None,
        },
        Ask::Choice { .. } | Ask::Approval { .. } | Ask::Stage { .. } | Ask::Budget { .. } | Ask::Stuck => {
            None
        }
    }
}
