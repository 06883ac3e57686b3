//! The server: its routes, what stands before all of them, and how it is started.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acquit_app::{App, Error};
use acquit_core::ids::TaskId;
use acquit_core::time::Timestamp;
use acquit_run::process::Call;
use axum::extract::{DefaultBodyLimit, Form, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;

use crate::access::{Files, Guard, Refusal, Token};
use crate::diffs::Diffs;
use crate::live::Live;
use crate::page::{self, Theme};
use crate::pool::Pool;
use crate::shared::{Held, Shared, failed, told};
use crate::{actions, pages};

/// The usual port. Where it is taken and nobody asked for it, another one is used.
const PORT: u16 = 4664;
/// The largest form: an answer of many pages.
const FORM_LIMIT: usize = 512 * 1024;

/// How long the program that opens a browser may run. Some are the browser itself, so this is never reached.
const BROWSER: Duration = Duration::from_hours(24 * 365);

/// Headers of every answer. Nothing but our own files is loaded, run, framed or sent to.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // Forms of this server send their origin only if they may send a referrer.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

/// How the dashboard is served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The address that the person named. Only addresses of the loopback interface are taken.
    pub listen: Option<SocketAddr>,
}

/// Serves until the process ends. `ready` is told the login link as soon as the server listens.
pub fn serve(app: Arc<App>, options: Options, ready: impl FnOnce(&str)) -> Result<(), Error> {
    let listener = listen(options.listen)?;
    let address =
        listener.local_addr().map_err(|source| Error::Listen { address: PORT.to_string(), source })?;
    let files = Files::below(&app.surroundings.home);
    let on_disk = |path: std::path::PathBuf| move |source| Error::File { doing: "write", path, source };
    let token = Token::read_or_make(&files).map_err(on_disk(files.token()))?;
    files.write(&files.address(), &format!("{address}\n")).map_err(on_disk(files.address()))?;
    let started = (app.runtime.now)();
    let first = url(address, &token, started).map_err(on_disk(files.token()))?;
    let threads = |source| Error::Listen { address: address.to_string(), source };
    let shared = Arc::new(Shared {
        pool: Pool::start(&app).map_err(threads)?,
        live: Live::new(&app),
        guard: Guard::new(token, address, started),
        diffs: Diffs::default(),
        tasks: Mutex::default(),
        app,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(threads)?;
    runtime
        .block_on(async move {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(pages::warm(Arc::clone(&shared)));
            ready(&first);
            axum::serve(listener, router(shared)).await
        })
        .map_err(threads)
}

/// A login link for the server that was started last, made now.
pub fn link(app: &App) -> Result<String, Error> {
    let files = Files::below(&app.surroundings.home);
    let reading = |source| Error::File { doing: "read", path: files.address(), source };
    let address = std::fs::read_to_string(files.address()).map_err(reading)?;
    let address: SocketAddr =
        address.trim().parse().map_err(|_| reading(std::io::Error::other("it is no address")))?;
    let token = Token::read_or_make(&files).map_err(reading)?;
    url(address, &token, (app.runtime.now)()).map_err(reading)
}

fn url(address: SocketAddr, token: &Token, now: Timestamp) -> std::io::Result<String> {
    Ok(format!("http://{address}/login?code={}", token.link_code(now)?))
}

/// Refuses an address that others can reach: they could try to log in, over a connection that anybody between can read.
pub fn check_address(address: SocketAddr) -> Result<(), Error> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(Error::NotLoopback { address: address.to_string() })
}

/// Opens the dashboard in a browser. If that fails the person opens the link that was printed.
pub fn open_browser(app: &App, link: &str) {
    let files = Files::below(&app.surroundings.home);
    // Arguments of a process can be read by everybody on the machine, so the browser gets a file that leads it to the link.
    let leads = html! { meta http-equiv="refresh" content={ "0;url=" (link) }; };
    let call = Call {
        program: if cfg!(target_os = "macos") { "open".into() } else { "xdg-open".into() },
        args: vec![files.open().into()],
        cwd: app.surroundings.home.clone(),
        env: app.surroundings.environment.all(),
        input: None,
        limit: BROWSER,
        guard: acquit_run::process::Guard::Trusted,
    };
    let opened = files.write(&files.open(), &leads.into_string()).map_err(|error| error.to_string());
    let spawner = app.runtime.spawner.clone();
    let opened = opened.and_then(|()| {
        let started =
            std::thread::Builder::new().name("browser".to_owned()).spawn(move || spawner.capture(&call));
        started.map(|_| ()).map_err(|error| error.to_string())
    });
    if let Err(error) = opened {
        app.warn(format!("no browser was opened: {error}"));
    }
}

/// Binds the address.
fn listen(wanted: Option<SocketAddr>) -> Result<std::net::TcpListener, Error> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let address = wanted.unwrap_or(usual);
    check_address(address)?;
    let refused = |source| Error::Listen { address: address.to_string(), source };
    match std::net::TcpListener::bind(address) {
        Err(error) if wanted.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)
        }
        done => done.map_err(refused),
    }
}

fn router(shared: Arc<Shared>) -> axum::Router {
    axum::Router::new()
        .merge(pages::routes())
        .route("/live", get(watch))
        .route("/login", get(login).post(login_by_token))
        .route("/logout", post(logout))
        .route("/theme", post(theme))
        .route("/style.css", get(|| async { asset("text/css; charset=utf-8", include_str!("style.css")) }))
        .route("/live.js", get(|| async { asset("text/javascript; charset=utf-8", include_str!("live.js")) }))
        .route("/icon.svg", get(|| async { asset("image/svg+xml", include_str!("icon.svg")) }))
        .fallback(async || {
            told(StatusCode::NOT_FOUND, "There is no such page", "The address is wrong.", None)
        })
        .layer(DefaultBodyLimit::max(FORM_LIMIT))
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Paths that show nothing of anybody.
const OPEN: [&str; 4] = ["/login", "/style.css", "/live.js", "/icon.svg"];

/// What stands before every page: who asks, from where, and the headers of the answer.
async fn guard(State(shared): Held, request: Request, next: Next) -> Response {
    let mut response = match shared.guard.admit(request.method(), request.headers()) {
        Err(Refusal::Host) => refused(
            StatusCode::MISDIRECTED_REQUEST,
            "The address in your browser does not belong to this dashboard.",
        ),
        Err(Refusal::Origin) => {
            refused(StatusCode::FORBIDDEN, "Another page sent this request, so nothing was done.")
        }
        Ok(()) => {
            let known = shared.guard.knows(request.headers(), (shared.app.runtime.now)());
            if known || OPEN.contains(&request.uri().path()) {
                next.run(request).await
            } else {
                refused(StatusCode::UNAUTHORIZED, "You are not logged in.")
            }
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn refused(status: StatusCode, why: &str) -> Response {
    let body = html! {
        h1 { "Log in to acquit" }
        p.lede { (why) }
        p { "Run " code { "acquit serve --link" } " and open the link that it prints. It works once." }
        form.stack method="post" action="/login" {
            label.field { span { "Or paste the token from " code { "web/token" } " in acquit's folder" } input type="password" name="token" autocomplete="off"; }
            button.btn.main { "Log in" }
        }
    };
    (status, Html(page::outside("Log in", body))).into_response()
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=3600")];
    (headers, text).into_response()
}

#[derive(Deserialize)]
struct Watched {
    task: Option<String>,
    after: Option<i64>,
}

/// The stream of news.
async fn watch(State(shared): Held, headers: HeaderMap, Query(watched): Query<Watched>) -> Response {
    let Some(place) = shared.live.place() else {
        return told(StatusCode::SERVICE_UNAVAILABLE, "Too many viewers", "Try again later.", None);
    };
    let task = watched.task.and_then(|task| task.parse::<TaskId>().ok());
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<i64>().ok());
    let after = last.or(watched.after);
    let live = Arc::clone(&shared.live);
    let missed = shared.pool.run(move |_, store| {
        let after = match after {
            Some(after) => after.max(0),
            None => live.newest(store)?,
        };
        Ok((Live::missed(store, task, after)?, after))
    });
    match missed.await {
        Some(Ok((missed, after))) => shared.live.stream(place, task, missed, after).into_response(),
        Some(Err(error)) => failed(Some(&error)),
        None => failed(None),
    }
}

#[derive(Deserialize)]
struct Code {
    code: Option<String>,
}

async fn login(State(shared): Held, Query(query): Query<Code>) -> Response {
    let now = (shared.app.runtime.now)();
    match query.code {
        Some(code) if shared.guard.redeem(&code, now) => welcome(&shared, now),
        Some(_) => refused(
            StatusCode::UNAUTHORIZED,
            "This link was used, is too old, or belongs to a server that was stopped.",
        ),
        None => refused(StatusCode::OK, "You need a link or the token."),
    }
}

async fn login_by_token(State(shared): Held, Form(fields): Form<Vec<(String, String)>>) -> Response {
    let now = (shared.app.runtime.now)();
    let given = actions::Fields(fields);
    if shared.guard.is_token(given.get("token").unwrap_or_default()) {
        return welcome(&shared, now);
    }
    refused(StatusCode::UNAUTHORIZED, "This is not the token.")
}

/// Sets the cookie. The next page is asked for by this one: after a redirect from elsewhere a browser would keep a strict cookie to itself.
fn welcome(shared: &Shared, now: Timestamp) -> Response {
    let cookie = match shared.guard.session(now) {
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

async fn logout(State(shared): Held) -> Response {
    let cookie = shared.guard.no_session();
    ([(header::SET_COOKIE, cookie)], refused(StatusCode::OK, "You are logged out.")).into_response()
}

async fn theme(headers: HeaderMap, Form(fields): Form<Vec<(String, String)>>) -> Response {
    let theme = Theme::named(actions::Fields(fields).get("theme").unwrap_or_default());
    let cookie =
        format!("acquit-theme={}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict", theme.name());
    // The page that the form was on. Only its path counts, so it leads nowhere else.
    let referer = headers.get(header::REFERER).and_then(|value| value.to_str().ok());
    let path = referer.and_then(|url| {
        url.split_once("://")?.1.find('/').map(|at| &url.split_once("://").map_or("", |it| it.1)[at..])
    });
    let back = path.filter(|path| !path.starts_with("//") && !path.contains('\\')).unwrap_or("/");
    ([(header::SET_COOKIE, cookie)], Redirect::to(back)).into_response()
}
