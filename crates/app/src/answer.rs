//! What waits for a person, and what the person replies.

use acquit_core::change::Change;
use acquit_core::decide::{Illegal, Input, decide};
use acquit_core::human_request::{Answer, Ask, Kind, Question};
use acquit_core::ids::TaskId;
use acquit_core::store::{self, Filter, Store};
use acquit_core::task::{Actor, End, State, Task};
use acquit_core::workflow::Workflow;

use crate::history::history;
use crate::reload::Renewal;
use crate::{App, Error};

/// What a person replies to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// One text for the whole request, or one for each question. Where there is something to choose, a name or a number chooses it.
    Words(Vec<String>),
    /// Yes.
    Approve,
    /// No, and why.
    Reject(String),
    /// As it is given, without any meaning of words.
    Exactly(Answer),
}

/// What a person saw when they replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The request.
    pub request: u32,
    /// The commit of the work, where it was shown.
    pub commit: Option<String>,
}

/// Where an answer leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To a stage.
    Stage {
        /// Its name.
        stage: String,
        /// Which round of how many this is, where going there spends a budget.
        round: Option<(u32, u32)>,
    },
    /// The task is done.
    Done,
    /// The task ends, and not well.
    Ends,
    /// A person is asked again.
    Asks,
}

/// Where an answer to the open request would lead; `None` if the request does not take it.
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
    /// At most `limit` tasks that wait for a person, newest first, and whether there are more. Without a project those of all.
    pub fn inbox(
        &self,
        store: &mut dyn Store,
        project: Option<String>,
        limit: u32,
    ) -> Result<(Vec<Task>, bool), Error> {
        let most = limit.saturating_add(1).min(100_000);
        let mut found = Vec::new();
        // Before a stage that cannot be undone a task is blocked, and waits for a person all the same.
        for state in ["waiting", "blocked"] {
            let (project, state) = (project.clone(), Some(state.to_owned()));
            found.extend(store.list(&Filter { project, state, ended: false, limit: most })?);
        }
        found.sort_by_key(|summary| std::cmp::Reverse(summary.id));
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let mut tasks = Vec::new();
        for summary in found {
            let task = match store.task(summary.id) {
                // Nobody can answer it; the other ones can be answered.
                Err(store::Error::Corrupt { .. }) => continue,
                task => task?,
            };
            // Somebody may have answered since the list was read.
            tasks.extend(Some(task).filter(|task| matches!(task.state, State::Waiting { .. })));
        }
        Ok((tasks, more))
    }

    /// Gives a reply to the request that a task waits with. It continues with the configuration as it is now, unless `pinned`.
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

    /// The same for a person who saw the request with this number: if another one is open by now, or none, nothing is answered.
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
            _ => Err(answered(store, id, number)?),
        }
    }

    /// The same for a person who also saw the work at a commit: if it is another one by now, nothing is answered.
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

/// Why a request takes no answer any more: somebody else gave one, or nobody did.
fn answered(store: &mut dyn Store, task: TaskId, request: u32) -> Result<Error, Error> {
    let found = history(store, task)?.answers.into_iter().rev().find(|known| known.request == request);
    Ok(match found {
        Some(known) => Error::Answered { task, request, by: known.by.to_string(), answer: known.answer },
        None => Error::Illegal { task, source: Illegal::NotOpen(request) },
    })
}

/// One answer for each question: words, or an option by its name or number.
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

/// What words mean to a request: where there is something to choose, a name or a number chooses it.
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
                // A number that no option has is a mistake, and no words.
                let number = !only.options.is_empty() && words.trim().parse::<u64>().is_ok();
                let other =
                    || if number { Answer::Choose { option: words.trim().to_owned() } } else { text() };
                chosen(names).map_or_else(other, |option| Answer::Choose { option })
            }
            [] | [_, _, ..] => text(),
        },
        // What is none of them is refused, in words that name them.
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

/// The question, if it is a single one that wants a yes or a no.
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
