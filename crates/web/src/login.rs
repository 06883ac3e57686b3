//! Login and logout: by a link or a token, and the cookie that both set.

use std::sync::Arc;
use std::time::Instant;

use acquit_core::time::Timestamp;
use axum::Extension;
use axum::extract::{Form, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::html;
use serde::Deserialize;

use crate::access::Caller;
use crate::shared::{Client, Shared, told};
use crate::{actions, page};

#[derive(Deserialize)]
/// Query of a login link.
pub struct Code {
    code: Option<String>,
}

/// Opens a login link, or asks for a token.
pub async fn login(State(shared): State<Arc<Shared>>, Query(query): Query<Code>) -> Response {
    let now = (shared.app.runtime.now)();
    match query.code {
        Some(code) if shared.guard.redeem(&code, now) => welcome(&shared, &shared.guard.owner(), now),
        Some(_) => refused(
            StatusCode::UNAUTHORIZED,
            "This link was used, is too old, or belongs to a server that was stopped.",
        ),
        None => refused(StatusCode::OK, "You need a link or the token."),
    }
}

/// Logs in with a token.
pub async fn login_by_token(
    State(shared): State<Arc<Shared>>,
    Extension(Client(client)): Extension<Client>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let now = (shared.app.runtime.now)();
    let given = actions::Fields(fields);
    if let Some(caller) = shared.guard.by_token(given.get("token").unwrap_or_default().trim()) {
        return welcome(&shared, &caller, now);
    }
    // Ignore the result here: the next attempt has to wait if this was one too many.
    let _ = shared.guesses.take(&client, Instant::now());
    refused(StatusCode::UNAUTHORIZED, "This is not the token.")
}

/// Sets the cookie. The page itself opens the next one: after a redirect from elsewhere, a browser would not send a
/// strict cookie.
fn welcome(shared: &Shared, caller: &Caller, now: Timestamp) -> Response {
    let cookie = match shared.guard.session(caller, now) {
        Ok(cookie) => cookie,
        Err(error) => {
            return told(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", &error.to_string(), None);
        }
    };
    let body = html! {
        meta http-equiv="refresh" content="0;url=/";
        h1 { "Logged in" }
        p { a.btn.main href="/" { "Open the board" } }
    };
    ([(header::SET_COOKIE, cookie)], Html(page::outside("Logged in", body))).into_response()
}

/// Ends the session of a browser.
pub async fn logout(State(shared): State<Arc<Shared>>) -> Response {
    let cookie = shared.guard.no_session();
    ([(header::SET_COOKIE, cookie)], refused(StatusCode::OK, "You are logged out.")).into_response()
}

/// Renders the page for a rejected caller.
pub fn refused(status: StatusCode, why: &str) -> Response {
    let body = html! {
        h1 { "Log in to acquit" }
        p.lede { (why) }
        p { "Run " code { "acquit serve --link" } " and open the link that it prints. It works once." }
        form.stack method="post" action="/login" {
            label.field { span { "Or paste your token, or the one from " code { "web/token" } " in acquit's folder" } input type="password" name="token" autocomplete="off"; }
            button.btn.main { "Log in" }
        }
    };
    (status, Html(page::outside("Log in", body))).into_response()
}
