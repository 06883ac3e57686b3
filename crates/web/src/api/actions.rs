//! Routes that change tasks: add, run, answer, end. Each calls one use case in the name of the caller.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acquit_app::Origin;
use acquit_app::answer::{Reply, Seen};
use acquit_app::reload::Renewal;
use acquit_app::review::Reviewed;
use acquit_app::{Means, NewTask, drive, preflight, tasks};
use acquit_core::decide::Input;
use acquit_core::human_request::Answer as Given;
use acquit_core::ids::TaskId;
use acquit_core::labels::Edit;
use acquit_core::task::TICKET;
use acquit_core::time::Span;

use super::look;
use super::problem::Problem;
use super::route::{At, Context, Route, patch, post};
use super::schema::{answer, input};
use super::types::{Nothing, Task};

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        post("/tasks", "createTask", "Add a task", create),
        post("/reviews", "createReview", "Add a task that reviews a branch or a pull request", review),
        patch("/tasks/{task}", "editTask", "Edit the labels of a task that has not ended", edit),
        post("/tasks/{task}/run", "runTask", "Start a task that is ready, without waiting for a worker", run),
        post("/tasks/{task}/cancel", "cancelTask", "Stop a task and end it", cancel),
        post("/tasks/{task}/retry", "retryTask", "Try a task again, at its stage or at another", retry),
        post("/tasks/{task}/answer", "answerTask", "Answer what a task asks", reply),
        post("/tasks/{task}/approve", "approveTask", "Approve what a task asks for", approve),
        post("/tasks/{task}/reject", "rejectTask", "Reject what a task asks for", reject),
        post(
            "/tasks/{task}/merge",
            "mergeTask",
            "Merge the work of a task that is done into its base branch",
            merge,
        ),
        post(
            "/tasks/{task}/feedback",
            "fetchFeedback",
            "Fetch review comments and failed checks of the pull request",
            feedback,
        ),
    ]
}

input! {
    /// A task to add.
    CreateTask {
        /// Title in one line.
        title: String = { "minLength": 1, "maxLength": 500, "pattern": "^[^\\u0000-\\u001f]*[^\\u0000-\\u0020][^\\u0000-\\u001f]*$" },
        /// Description.
        description: Option<String> = { "maxLength": 262_144, "pattern": "^[^\\u0000]*$" },
        /// Repository, by path or short name. Defaults to the one the server runs in.
        project: Option<String> = { "minLength": 1, "maxLength": 4096 },
        /// Workflow. Defaults to the project's.
        workflow: Option<String> = { "pattern": "^[a-z0-9][a-z0-9_-]{0,47}$" },
        /// Agent for every stage.
        agent: Option<String> = { "pattern": "^[a-z0-9][a-z0-9_-]{0,47}$" },
        /// Model for every stage.
        model: Option<String> = { "pattern": "^[!-~]{1,200}$" },
        /// Branch or commit to start from.
        base: Option<String> = { "pattern": "^[!-,.-~][!-~]{0,199}$" },
        /// Priority. Higher runs first.
        priority: Option<i32>,
        /// Tags for filtering.
        tags: Vec<String> = { "maxItems": 50, "items": { "type": "string", "pattern": "^[^\\u0000-\\u001f]{1,100}$" } },
        /// Estimated size.
        size: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{1,100}$" },
        /// Estimated complexity.
        complexity: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{1,100}$" },
        /// Ticket the task comes from.
        ticket: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{1,500}$" },
        /// Template variables.
        variables: BTreeMap<String, String> = { "maxProperties": 50, "additionalProperties": { "type": "string", "maxLength": 10_000, "pattern": "^[^\\u0000]*$" }, "propertyNames": { "type": "string", "pattern": "^[a-z_][a-z0-9_]{0,63}$" } },
        /// Free-form data.
        metadata: BTreeMap<String, String> = { "maxProperties": 50, "additionalProperties": { "type": "string", "maxLength": 10_000, "pattern": "^[^\\u0000]*$" }, "propertyNames": { "type": "string", "pattern": "^[a-z_][a-z0-9_]{0,63}$" } },
        /// Stop and ask when its agents have cost this much, in millionths of a dollar.
        max_cost_micros: Option<u64> = { "maximum": 1_000_000_000_000_i64 },
        /// Stop and ask when its legs have taken this many seconds.
        max_seconds: Option<u32>,
        /// Start it at once, without waiting for a worker of `acquit serve`.
        run: Option<bool>,
    }

    /// An edit of a task's labels. What it does not name stays as it is.
    EditTask {
        /// Priority. Higher runs first.
        priority: Option<i32>,
        /// Estimated size. Empty removes it.
        size: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{0,100}$" },
        /// Estimated complexity. Empty removes it.
        complexity: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{0,100}$" },
        /// Ticket the task comes from. Empty removes it.
        ticket: Option<String> = { "pattern": "^[^\\u0000-\\u001f]{0,500}$" },
        /// Tags to add.
        add_tags: Vec<String> = { "maxItems": 50, "items": { "type": "string", "pattern": "^[^\\u0000-\\u001f]{1,100}$" } },
        /// Tags to remove.
        remove_tags: Vec<String> = { "maxItems": 50, "items": { "type": "string", "pattern": "^[^\\u0000-\\u001f]{1,100}$" } },
        /// Free-form data to set. An empty value removes the entry.
        metadata: BTreeMap<String, String> = { "maxProperties": 50, "additionalProperties": { "type": "string", "maxLength": 10_000, "pattern": "^[^\\u0000]*$" }, "propertyNames": { "type": "string", "pattern": "^[a-z_][a-z0-9_]{0,63}$" } },
    }

    /// A review to add.
    CreateReview {
        /// A branch, a commit, or the number or URL of a pull request.
        what: String = { "pattern": "^[!-,.-~][!-~]{0,499}$" },
        /// What it is to be merged into.
        base: Option<String> = { "pattern": "^[!-,.-~][!-~]{0,199}$" },
        /// Repository, by path or short name.
        project: Option<String> = { "minLength": 1, "maxLength": 4096 },
    }

    /// Options of a retry.
    Retry {
        /// Stage to start at. Defaults to the current one.
        stage: Option<String> = { "pattern": "^[a-z0-9][a-z0-9_-]{0,47}$" },
        /// Note for the agent.
        note: Option<String> = { "maxLength": 262_144, "pattern": "^[^\\u0000]*$" },
        /// Agent from now on. Defaults to the one of before.
        agent: Option<String> = { "pattern": "^[a-z0-9][a-z0-9_-]{0,47}$" },
        /// Keep the workflow and configuration the task was added with.
        pinned: Option<bool>,
    }

    /// An answer.
    Answer {
        /// Number of the request that you saw. If another one is open by now, it is not answered.
        request: u32 = { "minimum": 1 },
        /// One text for each question, or a single one. If there are options, a name or a number selects one.
        answers: Vec<String> = { "maxItems": 10, "items": { "type": "string", "maxLength": 262_144, "pattern": "^[^\\u0000]*$" } },
        /// One of the options of a choice or a stage, instead of answers.
        option: Option<String> = { "minLength": 1, "maxLength": 200, "pattern": "^[^\\u0000]*$" },
    }

    /// An approval.
    Approve {
        /// Number of the request that you saw.
        request: u32 = { "minimum": 1 },
        /// Commit that you saw. If the work has another one by now, nothing is approved.
        commit: Option<String> = { "pattern": "^[0-9a-f]{7,64}$" },
    }

    /// A rejection.
    Reject {
        /// Number of the request that you saw.
        request: u32 = { "minimum": 1 },
        /// Reason.
        reason: String = { "minLength": 1, "maxLength": 262_144, "pattern": "^[^\\u0000]*[^\\u0000-\\u0020][^\\u0000]*$" },
    }
}

answer! {
    /// Result of a merge.
    Merged {
        /// The task. The leg that merges may still have to run.
        task: Task,
        /// The branch, if it already contains the work.
        already_in: Option<String>,
    }

    /// Feedback from the forge.
    Feedback {
        /// The task.
        task: Task,
        /// Number of new comments and checks.
        new: u32,
    }
}

/// Returns the current task.
fn shown(cx: &mut Context<'_>, id: TaskId) -> Result<Task, Problem> {
    Ok(Task::new(&tasks::show(cx.store, id)?))
}

fn names(text: Option<&String>) -> Option<acquit_core::ids::Name> {
    text.and_then(|text| text.parse().ok())
}

fn create(cx: &mut Context<'_>, _: &At, new: CreateTask) -> Result<Task, Problem> {
    if let Some(id) = cx.reserved
        && cx.store.task(id).is_ok()
    {
        // The server of the first attempt died before it could respond.
        return shown(cx, id);
    }
    let wish = NewTask {
        title: new.title,
        description: new.description.unwrap_or_default(),
        means: Means {
            workflow: names(new.workflow.as_ref()),
            agent: names(new.agent.as_ref()),
            model: new.model,
        },
        base: new.base,
        priority: new.priority,
        tags: new.tags,
        size: new.size,
        complexity: new.complexity,
        ticket: new.ticket,
        metadata: new.metadata.into_iter().collect(),
        variables: new.variables.into_iter().collect(),
        limits: acquit_app::Limits {
            max_cost: new.max_cost_micros,
            max_time: new.max_seconds.map(|seconds| Span::from(u64::from(seconds) * 1_000)),
        },
    };
    let top: PathBuf = look::project(cx, new.project.as_deref())?;
    let source =
        acquit_run::git::Source::discover(&cx.app.runtime.git, &top).map_err(acquit_app::Error::from)?;
    let project = cx.app.files(&source)?.read()?;
    let run = new.run == Some(true);
    if run {
        preflight::check_new(cx.app, &project, &wish.means)?;
    }
    let (by, id) = (cx.app.person(), cx.reserved);
    let origin = Origin { source, project, id, category: None, metadata: BTreeMap::new(), by };
    let task = cx.app.create_from(cx.store, &wish, origin)?;
    if run {
        drive::start(cx.app, task.id(), drive::Start::Wished)?;
    }
    shown(cx, task.id())
}

fn review(cx: &mut Context<'_>, _: &At, new: CreateReview) -> Result<Task, Problem> {
    let top = look::project(cx, new.project.as_deref())?;
    let app = cx.app.acting_as(&cx.caller.name, &top, Box::new(|_| {}));
    let asked = Reviewed { what: new.what, base: new.base, means: Means::default() };
    let task = app.review(cx.store, &asked)?;
    shown(cx, task.id())
}

fn edit(cx: &mut Context<'_>, at: &At, given: EditTask) -> Result<Task, Problem> {
    let mut edit = Edit {
        priority: given.priority,
        size: given.size,
        complexity: given.complexity,
        add_tags: given.add_tags,
        remove_tags: given.remove_tags,
        metadata: given.metadata,
    };
    edit.metadata.extend(given.ticket.map(|ticket| (TICKET.to_owned(), ticket)));
    cx.app.decide(cx.store, at.task()?, &Input::Edit { edit })?;
    shown(cx, at.task()?)
}

fn run(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Task, Problem> {
    let id = at.task()?;
    drive::run_now(cx.app, cx.store, id)?;
    shown(cx, id)
}

fn cancel(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Task, Problem> {
    cx.app.cancel(cx.store, at.task()?)?;
    shown(cx, at.task()?)
}

fn retry(cx: &mut Context<'_>, at: &At, how: Retry) -> Result<Task, Problem> {
    let input = Input::Retry { by: cx.app.person(), stage: names(how.stage.as_ref()), note: how.note };
    let means = Means { agent: names(how.agent.as_ref()), ..Means::default() };
    let renewal = Renewal { pinned: how.pinned == Some(true), means, ..Renewal::default() };
    cx.app.decide_with(cx.store, at.task()?, Some(&input), &renewal)?;
    shown(cx, at.task()?)
}

fn reply(cx: &mut Context<'_>, at: &At, given: Answer) -> Result<Task, Problem> {
    let reply = match (given.option, given.answers.is_empty()) {
        (Some(option), true) => Reply::Exactly(Given::Choose { option }),
        (None, false) => Reply::Words(given.answers),
        _ => {
            let detail = "give either `answers` or `option`";
            return Err(Problem::new("unprocessable", detail));
        }
    };
    cx.app.reply_to(cx.store, at.task()?, given.request, reply)?;
    shown(cx, at.task()?)
}

fn approve(cx: &mut Context<'_>, at: &At, given: Approve) -> Result<Task, Problem> {
    let id = at.task()?;
    let tip = cx.store.task(id)?.tip;
    // A prefix of the commit id is enough.
    let commit = given.commit.map(|seen| if tip.starts_with(&seen) { tip } else { seen });
    let seen = Seen { request: given.request, commit };
    cx.app.reply_seen(cx.store, id, &seen, Reply::Approve)?;
    shown(cx, id)
}

fn reject(cx: &mut Context<'_>, at: &At, given: Reject) -> Result<Task, Problem> {
    cx.app.reply_to(cx.store, at.task()?, given.request, Reply::Reject(given.reason))?;
    shown(cx, at.task()?)
}

fn merge(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Merged, Problem> {
    let already_in = match cx.app.merge(cx.store, at.task()?)? {
        acquit_app::merge::Merge::Already { branch, .. } => Some(branch),
        acquit_app::merge::Merge::Ready(task) => {
            // If it is left to workers, it waits for one.
            drive::Driver::default().step(cx.app, cx.store, task.id())?;
            None
        }
    };
    Ok(Merged { task: shown(cx, at.task()?)?, already_in })
}

fn feedback(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<Feedback, Problem> {
    let (_, new) = cx.app.feedback(cx.store, at.task()?)?;
    Ok(Feedback { task: shown(cx, at.task()?)?, new: u32::try_from(new).unwrap_or(u32::MAX) })
}
