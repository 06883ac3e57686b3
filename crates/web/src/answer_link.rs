//! The page behind a link in a message that answers one request without a login.
//!
//! Opening it changes nothing: it shows the request, and only its form answers. It shows nothing else of the task.

use std::sync::Arc;
use std::time::Instant;

use acquit_app::answer::why_closed;
use acquit_app::answer_link::{self, AnswerLink, Refused};
use acquit_app::{App, Error};
use acquit_core::store::Store;
use acquit_core::task::State as Standing;
use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use crate::access::{Caller, Role};
use crate::actions::{Action, Fields};
use crate::request::{self, Draft, Sent, Subject};
use crate::shared::{Client, Held, Shared, failed, told};
use crate::{api, page, words};

/// The choice that a link preselects.
#[derive(Deserialize)]
pub struct Preselected {
    choice: Option<usize>,
}

/// Reads the ticket of a link.
fn read(app: &App, store: &mut dyn Store, ticket: &str) -> Result<Result<AnswerLink, Refused>, Error> {
    let (id, now) = (store.id()?, store.now()?);
    let key = answer_link::key(&app.surroundings.home);
    Ok(key.ok_or(Refused::Forged).and_then(|key| AnswerLink::read(ticket, &key, &id, now)))
}

/// Shows the request of a link.
pub async fn show(
    State(shared): Held,
    Extension(client): Extension<Client>,
    Path(ticket): Path<String>,
    Query(query): Query<Preselected>,
) -> Response {
    let held = Arc::clone(&shared);
    let done = shared.pool.run(move |app, store| {
        let link = match read(app, store, &ticket)? {
            Ok(link) => link,
            Err(why) => return Ok(Err(why)),
        };
        content(&held, store, &link, &ticket, query.choice, Draft::default()).map(Ok)
    });
    match done.await {
        Some(Ok(Ok(body))) => Html(page::outside("Answer", body)).into_response(),
        Some(Ok(Err(why))) => refused(&shared, &client, why),
        Some(Err(error)) => closed(&error),
        None => failed(None),
    }
}

/// Shows why a link can no longer answer. The visitor is not logged in, so the page does not show a person's answer: it
/// may be a password.
fn closed(error: &Error) -> Response {
    let Error::Answered { task, by, .. } = error else { return failed(Some(error)) };
    let text = format!("{by} answered this request of {task}. Log in to see the answer.");
    told(StatusCode::CONFLICT, "Answered already", &text, None)
}

fn content(
    shared: &Shared,
    store: &mut dyn Store,
    link: &AnswerLink,
    ticket: &str,
    choice: Option<usize>,
    draft: Draft<'_>,
) -> Result<Markup, Error> {
    let task = store.task(link.task)?;
    let request = match &task.state {
        Standing::Waiting { request } if request.number == link.request => request,
        _ => return Err(why_closed(store, link.task, link.request)?),
    };
    let (subject, now) = (Subject::read(shared, store, &task, request)?, store.now()?);
    let sent = Sent::Link(ticket);
    let chosen = choice.and_then(|number| request::confirmation(&task, request, number, sent));
    Ok(html! {
        @if let Some(why) = draft.why() { div.head role="alert" { h1 { "Nothing was sent" } p.lede { (words::text(why)) } } } @else { div.head {
            h1 { (request::headline(&task, request)) }
            p.lede { "Nothing is answered until you press a button here. The first answer counts." }
        } }
        @if let Some(chosen) = &chosen { section.panel aria-label="Your choice" { div.panel-body { (chosen) } } }
        @if chosen.is_some() { h2 { "Or answer otherwise" } }
        article.panel.asks { (request::drafted(&task, request, &subject, sent, draft, now)) }
    })
}

/// Answers the request of a link.
pub async fn answer(
    State(shared): Held,
    Extension(client): Extension<Client>,
    caller: Option<Extension<Caller>>,
    Path((ticket, verb)): Path<(String, String)>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let given = ticket.clone();
    let read = shared.pool.run(move |app, store| read(app, store, &given));
    let link = match read.await {
        Some(Ok(Ok(link))) => link,
        Some(Ok(Err(why))) => return refused(&shared, &client, why),
        Some(Err(error)) => return failed(Some(&error)),
        None => return failed(None),
    };
    // A link answers its own request, and does nothing else.
    let fields = Fields(fields);
    let action = match Action::read(&verb, &fields) {
        Ok(Action::Reply { seen, reply }) if seen.request == link.request => Action::Reply { seen, reply },
        Err(lacks) => {
            let held = Arc::clone(&shared);
            let again = shared.pool.run(move |_, store| {
                content(&held, store, &link, &ticket, None, Draft::new(&fields, Some(&lacks)))
            });
            return match again.await {
                Some(Ok(body)) => {
                    (StatusCode::BAD_REQUEST, Html(page::outside("Answer", body))).into_response()
                }
                Some(Err(error)) => closed(&error),
                None => failed(None),
            };
        }
        Ok(_) => {
            let text = "A link answers the request that it was made for, and does nothing else.";
            return told(StatusCode::BAD_REQUEST, "Nothing was done", text, None);
        }
    };
    // The visitor is unknown. A person who is also logged in answers under their own name.
    let anybody = || Caller { name: format!("link sent to {}", link.channel), role: Role::Operator };
    let caller = caller.map(|Extension(caller)| caller).filter(|caller| caller.role >= Role::Operator);
    let caller = caller.unwrap_or_else(anybody);
    let id = link.task;
    let response = match shared.run_as(&caller, move |app, store| action.perform(app, store, id)).await {
        Some(Ok(())) => {
            let body = html! { h1 { "Answered" } p.lede { (words::line(&id.to_string(), 20)) " continues. You can close this page." } };
            Html(page::outside("Answered", body)).into_response()
        }
        Some(Err(error)) => closed(&error),
        None => failed(None),
    };
    api::note(&shared, &caller, format!("POST /answer {id} {verb}"), response.status().as_u16()).await;
    response
}

fn refused(shared: &Shared, client: &Client, why: Refused) -> Response {
    let text = match why {
        Refused::Expired => "This link is too old. Log in to answer in the inbox.",
        Refused::Forged => {
            // Ignore the result here: the next attempt has to wait if this was one too many.
            let _ = shared.guesses.take(&client.0, Instant::now());
            "This link is not valid here. Log in to answer in the inbox."
        }
    };
    told(StatusCode::FORBIDDEN, "The link does not answer", text, None)
}
