//! The board: open tasks by what they wait for, and what ended today. `acquit top` shows it.

use std::time::Duration;

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::human_request::Ask;
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::leg::{self, Ending, Leg, Purpose};
use acquit_core::store::{Filter, Store, each_event};
use acquit_core::task::{End, State, Summary, Task};
use acquit_core::time::Timestamp;
use acquit_core::workflow::Workflow;

use crate::{App, Error};

/// So many tasks are looked at.
const MOST: u32 = 500;
/// So many chunks at the end of a transcript are read.
const TAIL: u64 = 16 * 1024;
const CHUNKS: u32 = 100;

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// A person.
    Needs,
    /// Nothing: it runs.
    Running,
    /// A time, or another task.
    Waiting,
    /// A worker.
    Queued,
    /// It is over since today.
    Done,
}

/// How one step of a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Its work passed.
    Passed,
    /// It was rejected or failed.
    Rejected,
    /// It runs.
    Running,
    /// It needs a person.
    Needs,
    /// It waits.
    Waits,
    /// It is still to come.
    ToCome,
}

/// A task on the board.
#[derive(Clone, Debug)]
pub struct Row {
    /// Where it stands.
    pub lane: Lane,
    /// Its id.
    pub id: TaskId,
    /// What is wanted. Text of others.
    pub title: String,
    /// The repository's short name.
    pub project: String,
    /// One mark for each leg without fixes, then what is to come.
    pub path: Vec<Mark>,
    /// What it does or waits for. Parts of it are text of others.
    pub doing: String,
    /// How long that has been so.
    pub length: Duration,
    /// What it cost so far, in millionths of a dollar.
    pub cost: Option<u64>,
    /// How it ended, of one that is over.
    pub end: Option<End>,
}

/// The board.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// The tasks, lane by lane, oldest first within each.
    pub rows: Vec<Row>,
    /// What the tasks that changed today cost, in millionths of a dollar.
    pub spent: u64,
}

/// The chosen task, closer.
#[derive(Clone, Debug)]
pub struct Closer {
    /// The stages by name, each with its marks.
    pub stages: Vec<(String, Vec<Mark>)>,
    /// The newest leg.
    pub leg: Option<Leg>,
    /// The newest verdict that did not pass.
    pub rejected: Option<Verdict>,
    /// The newest lines of the agent. Text of others.
    pub lines: Vec<String>,
}

/// Reads the board, of one project or of all. `midnight` is when today began.
pub fn board(store: &mut dyn Store, project: Option<&str>, midnight: Timestamp) -> Result<Board, Error> {
    let filter = |ended| Filter { project: project.map(str::to_owned), state: None, ended, limit: MOST };
    let open = store.list(&filter(false))?;
    let all = store.list(&filter(true))?;
    let over = |task: &&Summary| task.updated >= midnight && open.iter().all(|other| other.id != task.id);
    let now = store.now()?;
    let mut board = Board::default();
    for summary in open.iter().chain(all.iter().filter(over)) {
        if summary.updated >= midnight {
            board.spent = board.spent.saturating_add(summary.cost_micros.unwrap_or(0));
        }
        let (task, legs) = (store.task(summary.id)?, store.legs(summary.id)?);
        let workflow = store.definition(summary.id)?.workflow;
        board.rows.push(row(&task, &legs, &workflow, now));
    }
    board.rows.sort_by_key(|row| (row.lane, row.id));
    Ok(board)
}

fn row(task: &Task, legs: &[Leg], workflow: &Workflow, now: Timestamp) -> Row {
    let mut usage = Usage::default();
    legs.iter().for_each(|leg| usage.add(&leg.usage));
    let lane = lane(task, legs, now);
    let last = legs.last();
    let length = match lane {
        Lane::Running => last.and_then(|leg| leg.started).map(|at| now.since(at)),
        Lane::Needs | Lane::Waiting => last.and_then(|leg| leg.ended).map(|at| now.since(at)),
        Lane::Done => {
            let ran = legs.iter().filter_map(|leg| Some(leg.ended?.since(leg.started?)));
            Some(ran.sum())
        }
        Lane::Queued => None,
    };
    Row {
        lane,
        id: task.id(),
        title: task.seed.wish.title.clone(),
        project: task.seed.project.name.clone(),
        path: path(task, legs, workflow, lane),
        doing: doing(task, legs, now),
        length: length.unwrap_or_else(|| now.since(task.seed.created)),
        cost: usage.paid(),
        end: match &task.state {
            State::Ended { end } => Some(end.clone()),
            _ => None,
        },
    }
}

fn lane(task: &Task, legs: &[Leg], now: Timestamp) -> Lane {
    match &task.state {
        State::Waiting { .. } => Lane::Needs,
        State::Blocked { .. } => Lane::Waiting,
        State::Ended { .. } => Lane::Done,
        State::New | State::Working { .. } => match legs.last() {
            Some(leg) if leg.state == leg::State::Running => Lane::Running,
            Some(leg) if leg.not_before > now => Lane::Waiting,
            Some(_) | None => Lane::Queued,
        },
    }
}

/// The mark of a leg that has begun.
fn mark(leg: &Leg) -> Option<Mark> {
    match leg.state {
        leg::State::Ready => None,
        leg::State::Running => Some(Mark::Running),
        leg::State::Passed => Some(Mark::Passed),
        leg::State::Held => Some(Mark::Waits),
        leg::State::Rejected
        | leg::State::Failed
        | leg::State::TimedOut
        | leg::State::Cancelled
        | leg::State::Lost => Some(Mark::Rejected),
    }
}

/// Whether a leg only repairs what another one did.
fn is_fix(leg: &Leg) -> bool {
    matches!(leg.entry.purpose, Purpose::Fix { .. } | Purpose::Resolve { .. })
}

fn path(task: &Task, legs: &[Leg], workflow: &Workflow, lane: Lane) -> Vec<Mark> {
    let shown = legs.iter().filter(|leg| !is_fix(leg) || leg.state == leg::State::Running);
    let mut marks: Vec<Mark> = shown.filter_map(mark).collect();
    match lane {
        Lane::Needs => marks.push(Mark::Needs),
        Lane::Waiting if marks.last() != Some(&Mark::Waits) => marks.push(Mark::Waits),
        Lane::Done => return marks,
        Lane::Waiting | Lane::Running | Lane::Queued => {}
    }
    marks.extend(to_come(task, workflow).iter().map(|_| Mark::ToCome));
    marks
}

/// The stages that a task has not come to, without those that only repair.
fn to_come<'w>(task: &Task, workflow: &'w Workflow) -> Vec<&'w str> {
    let here = task.state.stage();
    let repairs = |name: &Name| {
        workflow.stages.iter().any(|stage| stage.fix.as_ref() == Some(name))
            || workflow.conflict.as_ref() == Some(name)
    };
    let seen = |name: &Name| task.past.iter().any(|past| past.entry.stage == *name) || here == Some(name);
    let rest = workflow.stages.iter().map(|stage| &stage.name).filter(|name| !repairs(name) && !seen(name));
    rest.map(Name::as_str).collect()
}

/// What a task does or waits for.
fn doing(task: &Task, legs: &[Leg], now: Timestamp) -> String {
    match &task.state {
        State::New => "not started".to_owned(),
        State::Waiting { request } => match &request.ask {
            Ask::Question { questions } if questions.len() > 1 => format!("{} questions", questions.len()),
            Ask::Question { .. } => "question".to_owned(),
            Ask::Choice { .. } | Ask::Stage { .. } => "decision".to_owned(),
            Ask::Approval { .. } => format!("approve {}", task.tip.get(..7).unwrap_or_default()),
            Ask::Budget { budget } => format!("{budget} budget spent"),
            Ask::Stuck => "stuck".to_owned(),
        },
        State::Blocked { root, .. } => format!("{} fixes the base", root.task),
        State::Working { cancel: Some(_), .. } => "stopping".to_owned(),
        State::Working { entry, .. } => match legs.last() {
            Some(leg) if leg.not_before > now && leg.state == leg::State::Ready => {
                let seconds = leg.not_before.since(now).as_secs();
                let what = match task.past.last().map(|past| &past.ending) {
                    Some(Ending::Held { kind, .. }) => kind.to_string(),
                    _ => "retry".to_owned(),
                };
                if seconds < 60 {
                    format!("{what} in {seconds}s")
                } else {
                    format!("{what} in {}m", seconds / 60)
                }
            }
            _ => match &entry.purpose {
                Purpose::Fix { of, .. } => format!("fix for {of}"),
                Purpose::Recheck { .. } => format!("{} again", entry.stage),
                Purpose::Resolve { .. } => "resolve conflict".to_owned(),
                Purpose::Work | Purpose::Merge => entry.stage.to_string(),
            },
        },
        State::Ended { end } => match end {
            End::Done => "done".to_owned(),
            End::Failed { reason } => reason.clone(),
            End::NoImprovement => "no improvement".to_owned(),
            End::Cancelled { by } => format!("cancelled by {by}"),
        },
    }
}

/// Looks closer at a task.
pub fn closer(app: &App, store: &mut dyn Store, id: TaskId) -> Result<Closer, Error> {
    let (task, legs) = (store.task(id)?, store.legs(id)?);
    let workflow = store.definition(id)?.workflow;
    let mut stages: Vec<(String, Vec<Mark>)> = Vec::new();
    for leg in &legs {
        let Some(mark) = mark(leg) else { continue };
        let name = leg.entry.stage.to_string();
        match stages.last_mut() {
            Some((last, marks)) if *last == name => marks.push(mark),
            _ => stages.push((name, vec![mark])),
        }
    }
    if let State::Waiting { request } = &task.state {
        stages.push((request.stage.to_string(), vec![Mark::Needs]));
    }
    if !matches!(task.state, State::Ended { .. }) {
        stages
            .extend(to_come(&task, &workflow).into_iter().map(|name| (name.to_owned(), vec![Mark::ToCome])));
    }
    let mut rejected = None;
    each_event(store, Some(id), |event| {
        if let Body::Gate { verdict } = event.body {
            rejected = (!verdict.passed).then_some(*verdict).or(rejected.take());
        }
    })?;
    let printed = legs.iter().rev().find(|leg| leg.started.is_some()).map(|leg| leg.id);
    let lines = match printed {
        Some(leg) => newest_lines(app, store, leg)?,
        None => Vec::new(),
    };
    Ok(Closer { stages, leg: legs.last().cloned(), rejected, lines })
}

/// The newest things that an agent said or did. Where they begin is found by the size of the output, so it costs the same for every
/// length.
fn newest_lines(app: &App, store: &mut dyn Store, leg: LegId) -> Result<Vec<String>, Error> {
    let size = std::fs::metadata(app.runtime.leg_folder(leg).output()).map_or(0, |about| about.len());
    let chunks = store.transcript(leg, size.saturating_sub(TAIL), CHUNKS)?;
    let items = chunks.iter().flat_map(|chunk| &chunk.items);
    let line = |said: &AgentEvent| match said {
        AgentEvent::Text { text } | AgentEvent::Raw { text } => Some(text.clone()),
        AgentEvent::ToolUse { name, input } => Some(format!("→ {name} {input}")),
        AgentEvent::Fault { text, .. } | AgentEvent::Limit { text, .. } => Some(format!("! {text}")),
        _ => None,
    };
    Ok(items.filter_map(|item| line(&item.said)).collect())
}
