//! The addresses of pages and forms. The server around them, and who may ask, are in `server.rs` and `access.rs`.

use std::sync::Arc;

use acquit_app::{App, Error};
use acquit_core::ids::TaskId;
use acquit_core::store::{Filter, Store};
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};

use crate::page::{self, Content, Frame, Place};
use crate::server::{Held, Shared, chosen_theme, failed, told};
use crate::{actions, board, costs, diff, doctor, inbox, task, transcript};

/// So many waiting tasks are counted in the navigation.
const MOST_WAITING: u32 = 1_000;

/// All pages, and the forms on them.
pub fn routes() -> axum::Router<Arc<Shared>> {
    axum::Router::new()
        .route("/", get(home))
        .route("/inbox", get(show_inbox))
        .route("/costs", get(show_costs))
        .route("/doctor", get(show_doctor))
        .route("/tasks/{id}", get(show_task))
        .route("/tasks/{id}/diff", get(show_diff))
        .route("/tasks/{id}/legs/{leg}", get(show_leg))
        .route("/tasks/{id}/{action}", post(act))
}

/// Shows a page with its frame.
async fn show(
    shared: Arc<Shared>,
    headers: HeaderMap,
    place: Place,
    make: impl FnOnce(&App, &mut dyn Store) -> Result<Content, Error> + Send + 'static,
) -> Response {
    let live = Arc::clone(&shared.live);
    let theme = chosen_theme(&headers);
    let done = shared.pool.run(move |app, store| {
        // Before the page is made: what happens meanwhile is news to it.
        let seq = live.newest(store)?;
        let waiting = Filter { state: Some("waiting".to_owned()), limit: MOST_WAITING, ..Filter::default() };
        let waiting = store.list(&waiting)?.len();
        let content = make(app, store)?;
        let task = content.task.map(|task| task.to_string());
        let seq = Some(seq).filter(|_| place != Place::Doctor);
        let frame =
            Frame { place, title: content.title, waiting, seq, task, now: (app.runtime.now)(), theme };
        Ok(page::page(&frame, content.body))
    });
    match done.await {
        Some(Ok(page)) => Html(page).into_response(),
        Some(Err(error)) => failed(Some(&error)),
        None => failed(None),
    }
}

async fn home(State(shared): Held, headers: HeaderMap, Query(query): Query<board::Wanted>) -> Response {
    show(shared, headers, Place::Board, move |app, store| board::content(app, store, &query)).await
}

async fn show_inbox(State(shared): Held, headers: HeaderMap) -> Response {
    show(shared, headers, Place::Inbox, |app, store| inbox::content(app, store)).await
}

async fn show_costs(State(shared): Held, headers: HeaderMap, Query(query): Query<costs::Wanted>) -> Response {
    show(shared, headers, Place::Costs, move |app, store| costs::content(app, store, &query)).await
}

async fn show_doctor(State(shared): Held, headers: HeaderMap) -> Response {
    show(shared, headers, Place::Doctor, |app, _| Ok(doctor::content(app))).await
}

/// A task id in an address, or the page that says that there is none.
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
    show(shared, headers, Place::Elsewhere, move |app, store| task::content(app, store, id)).await
}

async fn show_diff(State(shared): Held, headers: HeaderMap, Path(task): Path<String>) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    show(shared, headers, Place::Elsewhere, move |app, store| diff::content(app, store, id)).await
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
    show(shared, headers, Place::Elsewhere, move |app, store| {
        transcript::content(app, store, id, leg, &query)
    })
    .await
}

/// A form was sent.
async fn act(
    State(shared): Held,
    Path((task, action)): Path<(String, String)>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let id = match id(&task) {
        Ok(id) => id,
        Err(page) => return *page,
    };
    let form = actions::Fields(fields);
    let back = form.back(id);
    let Some(action) = actions::Action::read(&action, &form) else {
        return told(
            StatusCode::BAD_REQUEST,
            "Nothing was done",
            "The form lacks something: choose an option or write an answer, and send it again.",
            None,
        );
    };
    match shared.pool.run(move |app, store| action.perform(app, store, id)).await {
        Some(Ok(())) => Redirect::to(&back).into_response(),
        Some(Err(error)) => failed(Some(&error)),
        None => failed(None),
    }
}
