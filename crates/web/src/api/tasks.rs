//! Routes that read tasks: lists, one in full, events, diff, transcripts and artifacts.

use acquit_app::artifact;
use acquit_app::tasks::{self, Wanted};
use acquit_core::ids::TaskId;
use acquit_run::git::Form;

use super::convert::artifacts;
use super::problem::Problem;
use super::route::{At, Context, Route, get};
use super::schema::{answer, input};
use super::types::{Artifact, Event, InboxItem, Line, Nothing, Page, Task, TaskSummary};

/// Default number of items per page.
const USUAL: u32 = 50;
/// Number of transcript chunks to read at once.
const CHUNKS: u32 = 50;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        get("/tasks", "listTasks", "List tasks, newest first", list),
        get("/tasks/{task}", "getTask", "Show a task in full", show),
        get("/tasks/{task}/events", "listTaskEvents", "List what happened in a task, oldest first", events),
        get("/tasks/{task}/diff", "getDiff", "Show what a task changed", diff),
        get("/tasks/{task}/artifacts", "listArtifacts", "List what a task left behind", list_artifacts),
        get(
            "/tasks/{task}/artifacts/{artifact}",
            "getArtifact",
            "Read a plan, a file or a gate's report",
            read,
        ),
        get(
            "/tasks/{task}/legs/{leg}/transcript",
            "getTranscript",
            "Read what an agent said and did",
            transcript,
        ),
        get(
            "/tasks/{task}/legs/{leg}/output",
            "getOutput",
            "Read what an agent printed, as it printed it",
            output,
        ),
        get("/inbox", "listInbox", "List tasks that need your input, newest first", inbox),
        get(
            "/events",
            "listEvents",
            "List events of all tasks, or follow them as server-sent events",
            all_events,
        ),
    ]
}

input! {
    /// Selects tasks.
    TaskQuery {
        /// Only tasks of the repository with this short name.
        project: Option<String> = { "maxLength": 200 },
        /// Only tasks in this state.
        state: Option<String> = { "enum": ["ready", "working", "cancelling", "waiting", "blocked", "done", "failed", "no_improvement", "cancelled"] },
        /// Only tasks of this workflow.
        workflow: Option<String> = { "maxLength": 48 },
        /// Only tasks with this tag. Repeat it for several.
        tag: Vec<String> = { "maxItems": 10 },
        /// Only tasks with this text in their title, or with this id.
        q: Option<String> = { "maxLength": 200 },
        /// `next` of the previous page.
        cursor: Option<String> = { "pattern": "^T-[1-9][0-9]{0,17}$" },
        /// Maximum number of items.
        limit: Option<u32> = { "minimum": 1, "maximum": 500 },
    }

    /// Selects events.
    EventQuery {
        /// Only events after this one.
        cursor: Option<String> = { "pattern": "^[0-9]{1,18}$" },
        /// Maximum number of items.
        limit: Option<u32> = { "minimum": 1, "maximum": 1000 },
    }

    /// Selects a part of a file.
    PartQuery {
        /// Byte offset to start at.
        from: Option<u64> = { "maximum": 9_007_199_254_740_991_i64 },
    }

    /// Selects requests.
    InboxQuery {
        /// Only those of the repository at this path.
        project: Option<String> = { "maxLength": 4096 },
        /// `next` of the previous page.
        cursor: Option<String> = { "pattern": "^T-[1-9][0-9]{0,17}$" },
        /// Maximum number of items.
        limit: Option<u32> = { "minimum": 1, "maximum": 500 },
    }
}

answer! {
    /// The changes of a task.
    Diff {
        /// Commit it is compared with.
        base: String,
        /// Commit of the work; null for work that was not handed over.
        tip: Option<String>,
        /// Whether the work is in the user's repository.
        published: bool,
        /// Changed files.
        files: Vec<DiffFile>,
        /// The diff as git prints it.
        diff: String,
    }

    /// Changes of a file.
    DiffFile {
        /// Path.
        path: String,
        /// Added lines; null for a binary file.
        added: Option<u64>,
        /// Removed lines; null for a binary file.
        removed: Option<u64>,
    }

    /// A part of a text.
    Text {
        /// The text, starting at the requested byte.
        text: String,
        /// Byte offset of the next part.
        next: u64,
        /// Total size.
        size: u64,
    }

    /// A part of a transcript.
    Transcript {
        /// Lines of the transcript.
        lines: Vec<Line>,
        /// Byte offset of the next part; null at the current end.
        next: Option<u64>,
        /// Number of records that are only in the leg's output.
        omitted: u64,
    }
}

fn list(cx: &mut Context<'_>, _: &At, query: TaskQuery) -> Result<Page<TaskSummary>, Problem> {
    let wanted = Wanted {
        name: query.project,
        state: query.state,
        tags: query.tag,
        workflow: query.workflow,
        search: query.q,
        below: query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()),
        ..Wanted::default()
    };
    let listed = tasks::list(cx.store, &wanted, query.limit.unwrap_or(USUAL))?;
    let next = listed.tasks.last().filter(|_| listed.more).map(|task| task.id.to_string());
    Ok(Page { items: listed.tasks.iter().map(TaskSummary::from).collect(), next })
}

fn show(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Task, Problem> {
    Ok(Task::new(&tasks::show(cx.store, at.task()?)?))
}

fn events(cx: &mut Context<'_>, at: &At, query: EventQuery) -> Result<Page<Event>, Problem> {
    let task = at.task()?;
    cx.store.task(task)?;
    page_of_events(cx, Some(task), &query)
}

fn all_events(cx: &mut Context<'_>, _: &At, query: EventQuery) -> Result<Page<Event>, Problem> {
    page_of_events(cx, None, &query)
}

fn page_of_events(
    cx: &mut Context<'_>,
    task: Option<TaskId>,
    query: &EventQuery,
) -> Result<Page<Event>, Problem> {
    let after = query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let limit = query.limit.unwrap_or(USUAL);
    let events = cx.store.events(task, after, limit)?;
    let full = events.len() == limit as usize;
    let next = events.last().filter(|_| full).map(|event| event.seq.to_string());
    Ok(Page { items: events.iter().map(Event::from).collect(), next })
}

fn diff(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Diff, Problem> {
    let diff = cx.app.diff(cx.store, at.task()?, Form::Patch).map_err(|error| match error {
        // A leg that starts or ends right now removes the tree that is being read.
        acquit_app::Error::Process(error) => {
            let detail = format!("the work cannot be looked at now: {}", acquit_run::harness::chain(&error));
            Problem::new("conflict", detail).hint("try again")
        }
        error => error.into(),
    })?;
    let file = |file: acquit_app::diff::FileChange| DiffFile {
        path: file.path,
        added: file.added,
        removed: file.removed,
    };
    Ok(Diff {
        base: diff.base.to_string(),
        tip: diff.tip.map(|tip| tip.to_string()),
        published: diff.published,
        files: diff.files.into_iter().map(file).collect(),
        diff: String::from_utf8_lossy(&diff.text).into_owned(),
    })
}

fn list_artifacts(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Vec<Artifact>, Problem> {
    Ok(artifacts(&cx.store.task(at.task()?)?))
}

fn read(cx: &mut Context<'_>, at: &At, query: PartQuery) -> Result<Text, Problem> {
    let id = at.task()?;
    let task = cx.store.task(id)?;
    let index: usize = at.text("artifact").parse().unwrap_or(usize::MAX);
    let none = || Problem::new("not-found", format!("{id} has no such artifact, or none that can be read"));
    artifact::read(cx.app, &task, index, query.from.unwrap_or(0)).map(Text::of).ok_or_else(none)
}

impl Text {
    fn of(part: artifact::Part) -> Self {
        Self { text: part.text, next: part.next, size: part.size }
    }
}

fn transcript(cx: &mut Context<'_>, at: &At, query: PartQuery) -> Result<Transcript, Problem> {
    let leg = known(cx, at)?;
    let chunks = cx.store.transcript(leg, query.from.unwrap_or(0), CHUNKS)?;
    let next = chunks.last().filter(|_| chunks.len() == CHUNKS as usize).map(|chunk| chunk.to);
    let omitted = chunks.iter().map(|chunk| chunk.omitted).sum();
    let lines = chunks.iter().flat_map(|chunk| &chunk.items).filter_map(Line::of).collect();
    Ok(Transcript { lines, next, omitted })
}

fn output(cx: &mut Context<'_>, at: &At, query: PartQuery) -> Result<Text, Problem> {
    let leg = known(cx, at)?;
    let none = || Problem::new("not-found", format!("leg {leg} has printed nothing on this machine"));
    artifact::output(cx.app, leg, query.from.unwrap_or(0)).map(Text::of).ok_or_else(none)
}

/// Returns a leg of the task.
fn known(cx: &mut Context<'_>, at: &At) -> Result<acquit_core::ids::LegId, Problem> {
    let leg = at.leg()?;
    cx.store.task(leg.task)?;
    let legs = cx.store.legs(leg.task)?;
    if legs.iter().any(|known| known.id == leg) {
        return Ok(leg);
    }
    Err(Problem::new("not-found", format!("{} has no leg {}", leg.task, leg.number)))
}

fn inbox(cx: &mut Context<'_>, _: &At, query: InboxQuery) -> Result<Page<InboxItem>, Problem> {
    let below = query.cursor.as_deref().and_then(|cursor| cursor.parse().ok());
    let (tasks, more) = cx.app.inbox(cx.store, query.project, below, query.limit.unwrap_or(USUAL))?;
    let next = tasks.last().filter(|_| more).map(|task| task.seed.id.to_string());
    Ok(Page { items: tasks.iter().filter_map(InboxItem::of).collect(), next })
}
