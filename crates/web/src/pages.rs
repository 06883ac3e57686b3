//! Routes of pages and forms. The server around them and access control are in `server.rs` and `access.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use acquit_app::figures::midnight;
use acquit_app::index::{PART, Standing};
use acquit_app::{Error, schedules};
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::store::{Follow, Store};
use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};

use crate::access::{Caller, Role};
use crate::page::{self, Content, Frame, Place, Theme};
use crate::request::{self, Why};
use crate::shared::{Held, Shared, chosen_theme, explained, failed, status, told};
use crate::{
    actions, agents, artifact, board, costs, diff, doctor, inbox, new, nights, settings, task, transcript,
    words, workers, workflows,
};

/// Returns all pages, and the forms on them.
pub fn routes() -> axum::Router<Arc<Shared>> {
    axum::Router::new()
        .route("/", get(home))
        .route("/inbox", get(show_inbox))
        .route("/new", get(show_new).post(add))
        .route("/workflows", get(show_workflows))
        .route("/workflows/{name}", get(show_workflow))
        .route("/nights", get(show_nights))
        .route("/nights/{name}", get(show_schedule))
        .route("/nights/{name}/{action}", post(follow))
        .route("/costs", get(show_costs))
        .route("/agents", get(show_agents))
        .route("/workers", get(show_workers))
        .route("/settings", get(show_settings))
        .route("/doctor", get(show_doctor))
        .route("/tasks/{id}", get(show_task))
        .route("/tasks/{id}/diff", get(show_diff))
        .route("/tasks/{id}/transcript", get(show_search))
        .route("/tasks/{id}/legs/{leg}", get(show_leg))
        .route("/tasks/{id}/legs/{leg}/output", get(show_output))
        .route("/tasks/{id}/artifacts/{index}", get(show_artifact))
        .route("/tasks/{id}/{action}", post(act))
}

/// Reads all tasks, the background of open requests and the sums of figures, and examines the machine, so that no page
/// has to wait for it. Other pages are served between the parts.
pub async fn warm(shared: Arc<Shared>) {
    if shared.warming.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(error) = read_all(&shared).await {
        shared.app.warn(format!("the dashboard cannot read tasks: {}", acquit_run::harness::chain(&error)));
    }
    shared.warming.store(false, Ordering::Relaxed);
}

/// Returns the error that ended it, if one did.
async fn read_all(shared: &Arc<Shared>) -> Option<Error> {
    loop {
        // A page that waits for the index comes first. A lock alone would let the next part overtake it.
        while shared.wanted.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let held = Arc::clone(shared);
        let read = shared.pool.run(move |_, store| {
            let mut index = held.unwaited(store)?;
            index.read_more(store, PART)?;
            Ok(index.unread())
        });
        match read.await {
            Some(Ok(0)) | None => break,
            Some(Ok(_)) => {}
            Some(Err(error)) => return Some(error),
        }
    }
    let held = Arc::clone(shared);
    let read = shared.pool.run(move |_, store| {
        inbox::content(&held, store, Role::Viewer)?;
        workflows::content(&held, store, None)?;
        costs::content(&held, store, &costs::Wanted::default())?;
        agents::content(&held, store, &costs::Wanted::default()).map(drop)
    });
    let read = read.await;
    // Open pages no longer have to say that tasks are missing.
    shared.live.all_changed();
    if shared.examined.is_old((shared.app.runtime.now)()) {
        examine(shared).await;
    }
    read?.err()
}

/// Renders a page with its frame.
pub async fn show(
    shared: Arc<Shared>,
    headers: HeaderMap,
    place: Place,
    make: impl FnOnce(&Shared, &mut dyn Store) -> Result<Content, Error> + Send + 'static,
) -> Response {
    show_as(shared, headers, place, StatusCode::OK, make).await
}

/// Renders a page with its frame and this status. If it cannot be made, shows why in the same frame.
async fn show_as(
    shared: Arc<Shared>,
    headers: HeaderMap,
    place: Place,
    status: StatusCode,
    make: impl FnOnce(&Shared, &mut dyn Store) -> Result<Content, Error> + Send + 'static,
) -> Response {
    match framed(&shared, &headers, place, make).await {
        Some(Ok(page)) => (status, Html(page)).into_response(),
        Some(Err(error)) => {
            let (status, title, text, hint) = explained(Some(&error));
            tell(&shared, &headers, status, title, text, hint).await
        }
        None => failed(None),
    }
}

/// Shows a message to a person who is logged in.
pub async fn tell(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    status: StatusCode,
    title: &'static str,
    text: String,
    hint: Option<String>,
) -> Response {
    let (words, advice) = (text.clone(), hint.clone());
    let body = move |_: &Shared, _: &mut dyn Store| {
        let body = page::message(title, &words, advice.as_deref());
        Ok(Content { title: title.to_owned(), task: None, body })
    };
    match framed(shared, headers, Place::Still, body).await {
        Some(Ok(page)) => (status, Html(page)).into_response(),
        // Not even the frame can be made.
        Some(Err(_)) | None => told(status, title, &text, hint.as_deref()),
    }
}

async fn framed(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    place: Place,
    make: impl FnOnce(&Shared, &mut dyn Store) -> Result<Content, Error> + Send + 'static,
) -> Option<Result<String, Error>> {
    let caller = shared.guard.caller(headers, (shared.app.runtime.now)());
    let role = caller.as_ref().map_or(Role::Viewer, |caller| caller.role);
    // Everyone with this role gets the same copy of a refreshed page.
    let own = !crate::refresh::is_refresh(headers);
    let theme = if own { chosen_theme(headers) } else { Theme::Auto };
    let caller = caller.filter(|_| own).map(|caller| caller.name);
    let held = Arc::clone(shared);
    let done = shared.pool.run(move |app, store| {
        // Read this before rendering the page, so that changes during rendering arrive as live updates.
        let seq = held.live.newest(store)?;
        let content = make(&held, store)?;
        let today = midnight((app.runtime.now)());
        let (waiting, unread, spent) = {
            let index = held.index(store)?;
            let needs = index.open().filter(|task| task.standing == Standing::Needs).count();
            (needs, index.unread(), acquit_app::board::spent_today(&index, today))
        };
        let task = content.task.map(|task| task.to_string());
        let seq = Some(seq).filter(|_| place != Place::Still);
        let frame = Frame {
            place,
            title: content.title,
            waiting,
            spent,
            unread,
            seq,
            task,
            caller,
            role,
            now: (app.runtime.now)(),
            theme,
        };
        Ok((page::page(&frame, content.body), unread))
    });
    let (page, unread) = match done.await? {
        Ok(made) => made,
        Err(error) => return Some(Err(error)),
    };
    // More happened than the index follows: read the rest again.
    if unread > 0 {
        tokio::spawn(warm(Arc::clone(shared)));
    }
    Some(Ok(page))
}

async fn home(State(shared): Held, headers: HeaderMap, Query(query): Query<board::Wanted>) -> Response {
    let role = shared.role(&headers);
    show(shared, headers, Place::Board, move |shared, store| board::content(shared, store, &query, role))
        .await
}

async fn show_inbox(State(shared): Held, headers: HeaderMap) -> Response {
    let role = shared.role(&headers);
    show(shared, headers, Place::Inbox, move |shared, store| inbox::content(shared, store, role)).await
}

async fn show_new(State(shared): Held, headers: HeaderMap, Query(query): Query<new::Wanted>) -> Response {
    let role = shared.role(&headers);
    if !role.may_act() {
        return forbidden(&shared, &headers, role).await;
    }
    show(shared, headers, Place::Still, move |shared, store| {
        new::content(shared, store, &query.project, None)
    })
    .await
}

async fn show_workflows(State(shared): Held, headers: HeaderMap) -> Response {
    show(shared, headers, Place::Workflows, |shared, store| workflows::content(shared, store, None)).await
}

async fn show_workflow(State(shared): Held, headers: HeaderMap, Path(name): Path<String>) -> Response {
    show(shared, headers, Place::Workflows, move |shared, store| {
        workflows::content(shared, store, Some(&name))
    })
    .await
}

async fn show_nights(State(shared): Held, headers: HeaderMap) -> Response {
    let role = shared.role(&headers);
    show(shared, headers, Place::Nights, move |shared, store| nights::content(shared, store, role)).await
}

async fn show_schedule(
    State(shared): Held,
    headers: HeaderMap,
    Path(name): Path<String>,
    Query(wanted): Query<nights::Wanted>,
) -> Response {
    let Ok(name) = name.parse::<Name>() else {
        let text = "This is no name of a schedule.".to_owned();
        return tell(&shared, &headers, StatusCode::NOT_FOUND, "There is no such schedule", text, None).await;
    };
    show(shared, headers, Place::Nights, move |shared, store| {
        nights::of_schedule(shared, store, &name, &wanted)
    })
    .await
}

async fn show_costs(State(shared): Held, headers: HeaderMap, Query(query): Query<costs::Wanted>) -> Response {
    show(shared, headers, Place::Costs, move |shared, store| costs::content(shared, store, &query)).await
}

async fn show_agents(
    State(shared): Held,
    headers: HeaderMap,
    Query(query): Query<costs::Wanted>,
) -> Response {
    show(shared, headers, Place::Agents, move |shared, store| agents::content(shared, store, &query)).await
}

async fn show_workers(State(shared): Held, headers: HeaderMap) -> Response {
    show(shared, headers, Place::Elsewhere, workers::content).await
}

async fn show_settings(
    State(shared): Held,
    headers: HeaderMap,
    Query(query): Query<settings::Wanted>,
) -> Response {
    show(shared, headers, Place::Still, move |shared, store| settings::content(shared, store, &query)).await
}

async fn show_doctor(
    State(shared): Held,
    headers: HeaderMap,
    Query(query): Query<doctor::Wanted>,
) -> Response {
    let held = Arc::clone(&shared);
    let make =
        move |shared: &Shared, _: &mut dyn Store| Ok(doctor::content(&shared.examined, &shared.app, &query));
    let response = show(shared, headers, Place::Still, make).await;
    if held.examined.is_old((held.app.runtime.now)()) {
        tokio::spawn(async move { examine(&held).await });
    }
    response
}

/// Examines the machine for the doctor's page.
async fn examine(shared: &Arc<Shared>) {
    let held = Arc::clone(shared);
    let job = move |app: &acquit_app::App, _: &mut dyn Store| {
        held.examined.examine(app);
        Ok::<_, Error>(())
    };
    shared.pool.run(job).await;
}

/// Parses a task id in a URL, or returns the page for a missing task.
fn id(text: &str) -> Result<TaskId, Box<Response>> {
    text.parse().map_err(|_| {
        Box::new(told(StatusCode::NOT_FOUND, "There is no such task", "A task id looks like T-42.", None))
    })
}

async fn show_task(State(shared): Held, headers: HeaderMap, Path(task): Path<String>) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let role = shared.role(&headers);
    show(shared, headers, Place::Elsewhere, move |shared, store| task::content(shared, store, id, role)).await
}

async fn show_diff(State(shared): Held, headers: HeaderMap, Path(task): Path<String>) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let role = shared.role(&headers);
    show(shared, headers, Place::Elsewhere, move |shared, store| diff::content(shared, store, id, role)).await
}

async fn show_search(
    State(shared): Held,
    headers: HeaderMap,
    Path(task): Path<String>,
    Query(query): Query<transcript::Wanted>,
) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    show(shared, headers, Place::Still, move |_, store| transcript::search(store, id, &query)).await
}

async fn show_leg(
    State(shared): Held,
    headers: HeaderMap,
    Path((task, leg)): Path<(String, u32)>,
    Query(query): Query<transcript::Wanted>,
) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    show(shared, headers, Place::Elsewhere, move |shared, store| {
        transcript::content(&shared.app, store, id, leg, &query)
    })
    .await
}

async fn show_output(
    State(shared): Held,
    headers: HeaderMap,
    Path((task, leg)): Path<(String, u32)>,
    Query(wanted): Query<artifact::Wanted>,
) -> Response {
    let task = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let leg = LegId { task, number: leg };
    let make =
        move |shared: &Shared, store: &mut dyn Store| artifact::output(&shared.app, store, leg, wanted);
    show_text(shared, headers, make).await
}

async fn show_artifact(
    State(shared): Held,
    headers: HeaderMap,
    Path((task, index)): Path<(String, usize)>,
    Query(wanted): Query<artifact::Wanted>,
) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let make = move |shared: &Shared, store: &mut dyn Store| {
        artifact::content(&shared.app, store, id, index, wanted)
    };
    show_text(shared, headers, make).await
}

/// Renders the page of a text, or says that there is none.
async fn show_text(
    shared: Arc<Shared>,
    headers: HeaderMap,
    make: impl FnOnce(&Shared, &mut dyn Store) -> Result<Option<Content>, Error> + Send + 'static,
) -> Response {
    let held = Arc::clone(&shared);
    let made = shared.pool.run(move |_, store| make(&held, store)).await;
    match made {
        Some(Ok(Some(content))) => show(shared, headers, Place::Still, move |_, _| Ok(content)).await,
        Some(Ok(None)) => {
            let text = "The task has no such text, or it is on another machine.".to_owned();
            tell(&shared, &headers, StatusCode::NOT_FOUND, "There is no such text", text, None).await
        }
        Some(Err(error)) => show(shared, headers, Place::Still, move |_, _| Err(error)).await,
        None => failed(None),
    }
}

/// Shows that the person's role does not allow it.
pub async fn forbidden(shared: &Arc<Shared>, headers: &HeaderMap, role: Role) -> Response {
    let text = format!(
        "This needs the role operator. Your role is {}: you can look, and change nothing.",
        role.name()
    );
    let hint =
        "`acquit token add NAME --role operator`, on the machine of the server, makes a token with that role";
    tell(shared, headers, StatusCode::FORBIDDEN, "Your role does not allow that", text, Some(hint.to_owned()))
        .await
}

/// Handles the form of a task.
async fn act(
    State(shared): Held,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Path((task, action)): Path<(String, String)>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let form = actions::Fields(fields);
    let back = form.back(id);
    let why = match actions::Action::read(&action, &form) {
        Err(lacks) => Why::Lacks(lacks),
        Ok(action) => match shared.run_as(&caller, move |app, store| action.perform(app, store, id)).await {
            Some(Ok(())) => return Redirect::to(&back).into_response(),
            Some(Err(error)) => Why::Failed(error),
            None => return failed(None),
        },
    };
    let status = match &why {
        Why::Lacks(_) => StatusCode::BAD_REQUEST,
        Why::Failed(error) => status(error),
    };
    let again = move |shared: &Shared, store: &mut dyn Store| request::again(shared, store, id, &form, &why);
    show_as(shared, headers, Place::Still, status, again).await
}

/// Handles the form for a new task.
async fn add(
    State(shared): Held,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let form = Arc::new(actions::Fields(fields));
    let title = form.get("title").unwrap_or_default().trim().to_owned();
    let (held, sent) = (Arc::clone(&shared), Arc::clone(&form));
    let lacks = match shared.run_as(&caller, move |app, store| new::add(&held, app, store, &sent)).await {
        Some(Ok(Ok(added))) => {
            return match added.as_slice() {
                [only] => Redirect::to(&format!("/tasks/{only}")).into_response(),
                [] | [_, _, ..] => Redirect::to(&format!("/?q={}", words::encoded(&title))).into_response(),
            };
        }
        Some(Ok(Err(lacks))) => lacks,
        Some(Err(error)) => match new::field_of(&error) {
            Some(lacks) => lacks,
            None => {
                return show_as(shared, headers, Place::Still, StatusCode::OK, move |_, _| Err(error)).await;
            }
        },
        None => return failed(None),
    };
    let again = move |shared: &Shared, store: &mut dyn Store| {
        let project = form.get("project").unwrap_or_default();
        new::content(shared, store, project, Some((&form, &lacks)))
    };
    show_as(shared, headers, Place::Still, StatusCode::BAD_REQUEST, again).await
}

/// Pauses or resumes a schedule, or begins a night of it.
async fn follow(
    State(shared): Held,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Path((name, action)): Path<(String, String)>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let known = ["pause", "resume", "run"].contains(&action.as_str());
    let Some(name) = name.parse::<Name>().ok().filter(|_| known) else {
        let text = "A schedule can be run, paused and resumed.".to_owned();
        return tell(&shared, &headers, StatusCode::BAD_REQUEST, "Nothing was done", text, None).await;
    };
    let held = Arc::clone(&shared);
    let done = shared.run_as(&caller, move |app, store| {
        let project = actions::Fields(fields).get("project").unwrap_or_default().to_owned();
        let place = nights::known(&held, store, &project)?;
        match action.as_str() {
            "pause" => schedules::follow(app, store, place.as_deref(), &name, Follow::No),
            "resume" => schedules::follow(app, store, place.as_deref(), &name, Follow::Yes),
            _ => schedules::begin(app, store, place.as_deref(), &name),
        }
    });
    match done.await {
        Some(Ok(())) => Redirect::to("/nights").into_response(),
        Some(Err(error)) => {
            show_as(shared, headers, Place::Still, StatusCode::OK, move |_, _| Err(error)).await
        }
        None => failed(None),
    }
}
