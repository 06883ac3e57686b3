//! The board: open tasks by what they wait for, and tasks that ended today. `acquit top` and the dashboard show it.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::artifact::Artifact;
use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::human_request::Ask;
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::leg::{self, Ending, Leg, Purpose};
use acquit_core::store::{Store, each_event};
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;

use crate::index::{self, IndexedLeg, IndexedTask, Reason, Standing, TaskIndex};
use crate::{App, Error};

/// Maximum number of tasks in `acquit top`.
const MOST: usize = 500;
/// Size of the transcript's tail to read: bytes of output, and number of chunks.
const TAIL: u64 = 16 * 1024;
const CHUNKS: u32 = 100;

/// Why a task waits.
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
    /// Nothing: it ended today.
    Done,
}

impl Lane {
    /// Returns the lane of a task. `runs` says whether one of its legs is running.
    pub fn of(task: &IndexedTask, runs: bool, now: Timestamp) -> Self {
        match task.standing {
            Standing::Needs => Self::Needs,
            Standing::Blocked => Self::Waiting,
            Standing::Working if runs => Self::Running,
            Standing::Working if task.legs().last().is_some_and(|leg| leg.not_before > now) => Self::Waiting,
            Standing::Working => Self::Queued,
            Standing::Done | Standing::Failed | Standing::NoImprovement | Standing::Cancelled => Self::Done,
        }
    }
}

/// Running legs by task, with their usage so far.
pub type Running = BTreeMap<TaskId, (LegId, Usage)>;

/// Reads the running legs.
pub fn running(store: &mut dyn Store) -> Result<Running, Error> {
    Ok(store.running()?.into_iter().map(|(leg, _)| (leg.id.task, (leg.id, leg.usage))).collect())
}

/// Returns the usage of a task, including its running leg.
pub fn usage(task: &Task, runs: Option<&(LegId, Usage)>) -> Usage {
    let mut usage = Usage::default();
    task.past.iter().for_each(|past| usage.add(&past.usage));
    if let Some((_, now)) = runs {
        usage.add(now);
    }
    usage
}

/// Returns the cost of a task's legs that started at or after a time, in millionths of a dollar.
pub fn spent_since(task: &IndexedTask, moment: Timestamp) -> u64 {
    let legs = task.legs().filter(|leg| leg.started.is_some_and(|started| started >= moment));
    legs.filter_map(|leg| leg.cost()).fold(0, u64::saturating_add)
}

/// Returns the cost of all legs that started at or after midnight, in millionths of a dollar.
pub fn spent_today(index: &TaskIndex, midnight: Timestamp) -> u64 {
    let recent = index.open().chain(index.ended_since(midnight));
    recent.map(|task| spent_since(task, midnight)).fold(0, u64::saturating_add)
}

/// Describes what a finished task delivered: its headline if that is not its title, where it is, and its size.
pub fn delivered(task: &Task) -> Vec<String> {
    if !matches!(task.state, State::Ended { end: End::Done }) {
        return Vec::new();
    }
    let place = task.request().map(|request| format!("pull request {}", request.url));
    let branch = task.artifacts.iter().rev().find_map(|artifact| match artifact {
        Artifact::Merged { branch, .. } => Some(format!("merged into {branch}")),
        Artifact::Branch { name, published: true, .. } => Some(format!("branch {name}")),
        _ => None,
    });
    let size = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Diff(stats) => {
            let files = if stats.files == 1 { "file" } else { "files" };
            Some(format!("+{} −{} in {} {files}", stats.insertions, stats.deletions, stats.files))
        }
        _ => None,
    });
    let headline = Some(task.headline()).filter(|headline| *headline != task.seed.wish.title);
    [headline.map(str::to_owned), place.or(branch), size].into_iter().flatten().collect()
}

/// Status of one step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Passed.
    Passed,
    /// Rejected or failed.
    Rejected,
    /// Running.
    Running,
    /// Needs a person.
    Needs,
    /// Waiting.
    Waits,
    /// Still to come.
    ToCome,
}

/// A task on the board.
#[derive(Clone, Debug)]
pub struct Row {
    /// Lane of the task.
    pub lane: Lane,
    /// Task id.
    pub id: TaskId,
    /// Title. Untrusted text.
    pub title: String,
    /// Short name of the repository.
    pub project: String,
    /// One mark for each leg except fixes, followed by the stages to come.
    pub path: Vec<Mark>,
    /// Description of what it does or waits for. Parts of it are untrusted text.
    pub doing: String,
    /// How long it has been doing that.
    pub length: Duration,
    /// Cost so far, in millionths of a dollar.
    pub cost: Option<u64>,
    /// Result, if it has ended.
    pub end: Option<End>,
}

/// The board.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Tasks by lane. Within the first lane, the one that waits longest first; queued tasks in the order in which they are
    /// claimed; others by age.
    pub rows: Vec<Row>,
    /// Cost of the legs that started today, in millionths of a dollar.
    pub spent: u64,
}

/// Details of the selected task.
#[derive(Clone, Debug)]
pub struct Closer {
    /// Stages by name, with their marks.
    pub stages: Vec<(String, Vec<Mark>)>,
    /// Newest leg.
    pub leg: Option<Leg>,
    /// Newest verdict that did not pass.
    pub rejected: Option<Verdict>,
    /// Newest lines of the agent. Untrusted text.
    pub lines: Vec<String>,
}

/// Reads the board. `midnight` is the start of today.
pub fn board(store: &mut dyn Store, index: &mut TaskIndex, midnight: Timestamp) -> Result<Board, Error> {
    index.refresh(store)?;
    index.read_since(store, midnight)?;
    let (now, running) = (store.now()?, running(store)?);
    let mut board = Board::default();
    for known in index.open().chain(index.ended_since(midnight)) {
        board.spent = board.spent.saturating_add(spent_since(known, midnight));
        if board.rows.len() == MOST {
            continue;
        }
        let (task, runs) = (store.task(known.id)?, running.get(&known.id));
        let lane = Lane::of(known, runs.is_some(), now);
        let cost = usage(&task, runs).paid();
        board.rows.push(row(lane, known, &task, cost, now));
    }
    let queue = queue(store)?;
    let place = |row: &Row| match row.lane {
        // The one that waits longest first.
        Lane::Needs => -i64::try_from(row.length.as_millis()).unwrap_or(i64::MAX),
        Lane::Queued => queue.get(&row.id).copied().unwrap_or(i64::MAX),
        Lane::Running | Lane::Waiting | Lane::Done => 0,
    };
    board.rows.sort_by_key(|row| (row.lane, place(row), row.id));
    Ok(board)
}

/// Maximum number of waiting legs whose order is shown.
const QUEUED: u32 = 1_000;

/// Returns the places of tasks in the queue: the order in which their legs are claimed. Legs that are due later, or that
/// a limit keeps waiting, have none.
pub fn queue(store: &mut dyn Store) -> Result<BTreeMap<TaskId, i64>, Error> {
    let now = store.now()?;
    let waiting = store.waiting(QUEUED)?.into_iter().filter(|leg| leg.is_due(now));
    Ok((0..).zip(waiting).map(|(place, leg)| (leg.leg.task, place)).collect())
}

/// Returns since when a task is in its lane; for an ended task, when it ended.
pub fn since(lane: Lane, known: &IndexedTask) -> Timestamp {
    let last = known.legs().last();
    match lane {
        Lane::Running => last.and_then(|leg| leg.started).unwrap_or(known.updated),
        Lane::Needs | Lane::Waiting | Lane::Queued | Lane::Done => known.updated,
    }
}

fn row(lane: Lane, known: &IndexedTask, task: &Task, cost: Option<u64>, now: Timestamp) -> Row {
    let last = known.legs().last();
    let length = match lane {
        Lane::Done => known.took(now),
        Lane::Needs | Lane::Running | Lane::Waiting | Lane::Queued => now.since(since(lane, known)),
    };
    Row {
        lane,
        id: known.id,
        title: known.title.to_string(),
        project: known.project.to_string(),
        path: path(task, known, lane),
        doing: doing(task, last.as_ref(), now),
        length,
        cost,
        end: match &task.state {
            State::Ended { end } => Some(end.clone()),
            _ => None,
        },
    }
}

/// Returns the mark of a leg that has started.
fn mark(state: leg::State) -> Option<Mark> {
    match state {
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

fn path(task: &Task, known: &IndexedTask, lane: Lane) -> Vec<Mark> {
    // Leave out legs that only repair the work of another.
    let is_fix = |leg: &IndexedLeg<'_>| matches!(leg.reason, Reason::Fix | Reason::Resolve);
    let shown = known.legs().filter(|leg| !is_fix(leg) || leg.state == leg::State::Running);
    let mut marks: Vec<Mark> = shown.filter_map(|leg| mark(leg.state)).collect();
    match lane {
        Lane::Needs => marks.push(Mark::Needs),
        Lane::Waiting if marks.last() != Some(&Mark::Waits) => marks.push(Mark::Waits),
        Lane::Done => return marks,
        Lane::Waiting | Lane::Running | Lane::Queued => {}
    }
    let stages = known.stages.iter().map(|stage| (&*stage.name, stage.repairs));
    marks.extend(to_come(task, stages).iter().map(|_| Mark::ToCome));
    marks
}

/// Returns the stages a task has not reached, without those that only repair. The flag of a stage says whether it does.
fn to_come<'s>(task: &Task, stages: impl Iterator<Item = (&'s str, bool)>) -> Vec<&'s str> {
    let here = task.state.stage().map(Name::as_str);
    let seen =
        |name: &str| here == Some(name) || task.past.iter().any(|past| past.entry.stage.as_str() == name);
    stages.filter(|(name, repairs)| !repairs && !seen(name)).map(|(name, _)| name).collect()
}

/// Describes what a task does or waits for.
fn doing(task: &Task, last: Option<&IndexedLeg<'_>>, now: Timestamp) -> String {
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
        State::Working { entry, .. } => match last {
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

/// Reads the details of a task.
pub fn closer(app: &App, store: &mut dyn Store, id: TaskId) -> Result<Closer, Error> {
    let (task, legs) = (store.task(id)?, store.legs(id)?);
    let workflow = store.definition(id)?.workflow;
    let mut stages: Vec<(String, Vec<Mark>)> = Vec::new();
    for leg in &legs {
        let Some(mark) = mark(leg.state) else { continue };
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
        let all = workflow.stages.iter().map(|stage| (stage.name.as_str(), index::repairs(&workflow, stage)));
        stages.extend(to_come(&task, all).into_iter().map(|name| (name.to_owned(), vec![Mark::ToCome])));
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

/// Returns the newest things an agent said or did. Computes their start from the size of the output, so the cost does
/// not depend on its length.
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
