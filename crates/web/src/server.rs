//! The server: its routes, the guard in front of them, and its startup.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acquit_app::{App, Error};
use acquit_core::ids::TaskId;
use acquit_core::time::Timestamp;
use acquit_run::process::Call;
use axum::body::to_bytes;
use axum::extract::{DefaultBodyLimit, Form, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;

use crate::access::{Caller, Exposure, Files, Guard, Limiter, Rate, Refusal, Role, Token};
use crate::api::{self, problem::Problem};
use crate::diffs::Diffs;
use crate::listen;
use crate::live::Live;
use crate::page::Theme;
use crate::pool::Pool;
use crate::shared::{Client, Held, Shared, Sums, failed, told};
use crate::{actions, answer_link, login, metrics, pages, refresh};

/// Default port. If it is taken and was not requested explicitly, another one is used.
const PORT: u16 = 4664;
/// Maximum size of a form: an answer of many pages.
const FORM_LIMIT: usize = 512 * 1024;

/// Timeout of the program that opens a browser. Some are the browser itself, so it is practically unlimited.
const BROWSER: Duration = Duration::from_hours(24 * 365);

/// Headers of every response. Nothing but our own files may be loaded, run, framed or sent to.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // Browsers send the origin of our forms only if they may send a referrer.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

/// Rate limit for wrong tokens, links or cookies from one address.
const GUESSES: Rate = Rate { burst: 20, every: Duration::from_secs(3) };

/// After this time without a request, memory is given back. Unused connections to the store are closed by then.
const QUIET: Duration = Duration::from_secs(40);

/// How to serve the dashboard.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Listen address the user asked for. Without TLS or a proxy, only loopback addresses are accepted.
    pub listen: Option<SocketAddr>,
    /// Who can reach it.
    pub exposure: Exposure,
}

/// Serves until the process ends. Calls `ready` with the login link as soon as the server listens.
pub fn serve(app: Arc<App>, options: Options, ready: impl FnOnce(&str)) -> Result<(), Error> {
    let Options { listen: wanted, exposure } = options;
    acquit_run::process::share_heap();
    let listener = listen(wanted, &exposure)?;
    let address =
        listener.local_addr().map_err(|source| Error::Listen { address: PORT.to_string(), source })?;
    let files = Files::below(&app.surroundings.home);
    let on_disk = |path: std::path::PathBuf| move |source| Error::File { doing: "write", path, source };
    let token = Token::read_or_make(&files).map_err(on_disk(files.token()))?;
    let origin = exposure.origin().map_or_else(|| format!("http://{address}"), ToString::to_string);
    files.write(&files.address(), &format!("{origin}\n")).map_err(on_disk(files.address()))?;
    let started = (app.runtime.now)();
    let first = url(&origin, &token, started).map_err(on_disk(files.token()))?;
    let threads = |source| Error::Listen { address: address.to_string(), source };
    let tls = match &exposure {
        Exposure::Tls { certificate, key, .. } => Some(listen::tls(certificate, key).map_err(threads)?),
        Exposure::Loopback | Exposure::Proxy { .. } => None,
    };
    let proxied = matches!(exposure, Exposure::Proxy { .. });
    let guard = Guard::new(&files, token, address, exposure, &app.surroundings.user, started);
    let shared = Arc::new(Shared {
        pool: Pool::start(&app).map_err(threads)?,
        live: Live::new(&app),
        guard,
        diffs: Diffs::default(),
        tasks: Mutex::default(),
        warming: AtomicBool::new(false),
        wanted: AtomicUsize::new(0),
        requested: AtomicBool::new(true),
        examined: crate::doctor::Examined::default(),
        sums: Mutex::default(),
        requests: crate::background::Requests::default(),
        answers: crate::background::Answers::default(),
        refreshes: refresh::Refreshes::default(),
        looks: Limiter::new(api::READS),
        forms: Limiter::new(api::WRITES),
        guesses: Limiter::new(GUESSES),
        proxied,
        app,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(threads)?;
    runtime
        .block_on(async move {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(pages::warm(Arc::clone(&shared)));
            tokio::spawn(give_memory_back(Arc::clone(&shared)));
            ready(&first);
            listen::serve(listener, tls, router(shared)).await
        })
        .map_err(threads)
}

/// Gives memory back whenever a while has passed without a request.
async fn give_memory_back(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(QUIET).await;
        if shared.requested.swap(false, Ordering::Relaxed) {
            continue;
        }
        // Sums are made again in milliseconds.
        *shared.sums() = Sums::default();
        shared.refreshes.clear();
        acquit_run::process::give_back();
        // It needs no more memory until the next request.
        while !shared.requested.load(Ordering::Relaxed) {
            tokio::time::sleep(QUIET).await;
        }
    }
}

/// Creates a login link for the server that was started last.
pub fn link(app: &App) -> Result<String, Error> {
    let files = Files::below(&app.surroundings.home);
    let reading = |source| Error::File { doing: "read", path: files.address(), source };
    let address = std::fs::read_to_string(files.address()).map_err(reading)?;
    let token = Token::read_or_make(&files).map_err(reading)?;
    url(address.trim(), &token, (app.runtime.now)()).map_err(reading)
}

fn url(origin: &str, token: &Token, now: Timestamp) -> std::io::Result<String> {
    Ok(format!("{origin}/login?code={}", token.link_code(now)?))
}

/// Rejects an address that others can reach without encryption: anyone on the network path could read tokens. Also
/// rejects TLS files that cannot be used.
pub fn check_address(address: Option<SocketAddr>, exposure: &Exposure) -> Result<(), Error> {
    match (exposure, address) {
        (Exposure::Loopback, Some(address)) if !address.ip().is_loopback() => {
            Err(Error::NotLoopback { address: address.to_string() })
        }
        (Exposure::Tls { certificate, key, .. }, _) => {
            let path = certificate.clone();
            listen::tls(certificate, key).map(drop).map_err(|source| Error::ProjectFile { path, source })
        }
        (Exposure::Loopback | Exposure::Proxy { .. }, _) => Ok(()),
    }
}

/// Opens the dashboard in a browser. If that fails, the user can open the printed link.
pub fn open_browser(app: &App, link: &str) {
    let files = Files::below(&app.surroundings.home);
    // Everyone on the machine can read process arguments, so the browser gets a file that redirects it to the link.
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
fn listen(wanted: Option<SocketAddr>, exposure: &Exposure) -> Result<std::net::TcpListener, Error> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let address = wanted.unwrap_or(usual);
    check_address(wanted, exposure)?;
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
        .merge(pages::routes().route_layer(from_fn_with_state(Arc::clone(&shared), share)))
        .route("/live", get(watch))
        .route("/metrics", get(metrics::metrics))
        .route("/answer/{ticket}", get(answer_link::show))
        .route("/answer/{ticket}/{verb}", post(answer_link::answer))
        .route("/login", get(login::login).post(login::login_by_token))
        .route("/logout", post(login::logout))
        .route("/theme", post(theme))
        .route("/style.css", get(|| async { asset("text/css; charset=utf-8", include_str!("style.css")) }))
        .route("/live.js", get(|| async { asset("text/javascript; charset=utf-8", include_str!("live.js")) }))
        .route("/icon.svg", get(|| async { asset("image/svg+xml", include_str!("icon.svg")) }))
        .merge(api::router())
        .fallback(async || {
            told(StatusCode::NOT_FOUND, "There is no such page", "The address is wrong.", None)
        })
        .layer(DefaultBodyLimit::max(FORM_LIMIT))
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        // Outside the guard: probes have no token and connect by address.
        .route("/healthz", get(metrics::healthz))
        .with_state(shared)
}

/// Links in messages that answer one request: their ticket lets in.
const ANSWER: &str = "/answer/";

/// Paths that are served without login, because they show no data.
const OPEN: [&str; 4] = ["/login", "/style.css", "/live.js", "/icon.svg"];

/// The guard in front of every page and the API: checks the caller, the origin and the role, and sets the headers of
/// the response.
async fn guard(State(shared): Held, request: Request, next: Next) -> Response {
    shared.requested.store(true, Ordering::Relaxed);
    let api = request.uri().path() == "/api" || request.uri().path().starts_with("/api/");
    let path = request.uri().path();
    // A link that answers writes its own line, without its ticket.
    let form = request.method() == Method::POST && !api && path != "/login" && !path.starts_with(ANSWER);
    let words = form.then(|| format!("POST {}", request.uri().path()));
    let headers = request.headers().clone();
    let mut response = match admitted(&shared, &request) {
        Ok(caller) => {
            let mut request = request;
            let client = Client(shared.client(&request));
            request.extensions_mut().insert(client);
            if let Some(caller) = caller.clone() {
                request.extensions_mut().insert(caller);
            }
            let response = next.run(request).await;
            if let (Some(words), Some(caller)) = (words, caller) {
                api::note(&shared, &caller, words, response.status().as_u16()).await;
            }
            response
        }
        Err(problem) if api => problem.into_response(),
        Err(problem) if problem.is("forbidden") => {
            let caller = shared.guard.caller(&headers, (shared.app.runtime.now)());
            let response =
                pages::forbidden(&shared, &headers, caller.as_ref().map_or(Role::Viewer, |it| it.role)).await;
            if let (Some(words), Some(caller)) = (words, caller) {
                api::note(&shared, &caller, words, response.status().as_u16()).await;
            }
            response
        }
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::FORBIDDEN);
            login::refused(status, problem.detail())
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Serves a refresh from the page that somebody else's refresh rendered. Limits how many pages and forms a caller asks
/// for.
async fn share(State(shared): Held, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().map(|caller| caller.name.clone()).unwrap_or_default();
    if request.method() == Method::POST {
        if let Err(wait) = shared.forms.take(&caller, Instant::now()) {
            return too_many(wait);
        }
        let response = next.run(request).await;
        // What a form changes is on the next page, whether it is an event or not.
        shared.refreshes.clear();
        return response;
    }
    if !refresh::is_refresh(request.headers()) {
        return match shared.looks.take(&caller, Instant::now()) {
            Ok(()) => next.run(request).await,
            Err(wait) => too_many(wait),
        };
    }
    let page = (request.uri().to_string(), shared.role(request.headers()));
    let cell = shared.refreshes.cell(shared.live.version(), page);
    let rendered = cell.get_or_try_init(|| async {
        // A copy costs little and is not counted.
        shared.looks.take(&caller, Instant::now()).map_err(too_many)?;
        let response = next.run(request).await;
        if response.status() != StatusCode::OK {
            return Err(response);
        }
        let body = to_bytes(response.into_body(), refresh::SIZE).await;
        body.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    });
    match rendered.await {
        Ok(page) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.clone()).into_response(),
        Err(response) => response,
    }
}

/// Tells a caller who asks too often to wait.
fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let text = format!("You asked for too much at once. Wait {seconds} s.");
    let mut response = told(StatusCode::TOO_MANY_REQUESTS, "Too many requests", &text, None);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

/// Returns the caller; `None` for a caller without login on a path that shows no data. Returns an error if the caller
/// has no access.
fn admitted(shared: &Shared, request: &Request) -> Result<Option<Caller>, Problem> {
    let (headers, path) = (request.headers(), request.uri().path());
    match shared.guard.admit(request.method(), headers) {
        Err(Refusal::Host) => {
            let detail = "The address in your browser does not belong to this dashboard.";
            return Err(Problem::new("wrong-host", detail));
        }
        Err(Refusal::Origin) => {
            let detail = "Another page sent this request, so nothing was done.";
            return Err(Problem::new("foreign-origin", detail));
        }
        Ok(()) => {}
    }
    let client = shared.client(request);
    let wait = |wait: Duration| {
        let seconds = (wait.as_secs() + 1).to_string();
        let detail = format!("Too many wrong tokens came from your address. Wait {seconds} s.");
        Problem::new("too-many-requests", detail).header("retry-after", seconds)
    };
    shared.guesses.has_room(&client, Instant::now()).map_err(wait)?;
    let Some(caller) = shared.guard.caller(headers, (shared.app.runtime.now)()) else {
        if OPEN.contains(&path) || path.starts_with(ANSWER) {
            return Ok(None);
        }
        if headers.contains_key(header::AUTHORIZATION) {
            shared.guesses.take(&client, Instant::now()).map_err(wait)?;
        }
        let problem =
            Problem::new("unauthorized", "You are not logged in.").header("www-authenticate", "Bearer");
        return Err(
            problem.hint("send a token in the header Authorization: Bearer …; `acquit token add` makes one")
        );
    };
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    // API routes check their own roles. Forms of pages change something.
    let harmless = path.starts_with("/api/")
        || path.starts_with(ANSWER)
        || ["/login", "/logout", "/theme"].contains(&path);
    if !reads && !harmless && caller.role < Role::Operator {
        let detail = format!("Your role is {}: you can look, and change nothing.", caller.role.name());
        return Err(Problem::new("forbidden", detail));
    }
    Ok(Some(caller))
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

/// Streams live updates.
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

async fn theme(headers: HeaderMap, Form(fields): Form<Vec<(String, String)>>) -> Response {
    let theme = Theme::named(actions::Fields(fields).get("theme").unwrap_or_default());
    let cookie =
        format!("acquit-theme={}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict", theme.name());
    // Return to the page of the form. Only the path is used, so that it cannot lead elsewhere.
    let referer = headers.get(header::REFERER).and_then(|value| value.to_str().ok());
    let path = referer.and_then(|url| {
        url.split_once("://")?.1.find('/').map(|at| &url.split_once("://").map_or("", |it| it.1)[at..])
    });
    let back = path.filter(|path| !path.starts_with("//") && !path.contains('\\')).unwrap_or("/");
    ([(header::SET_COOKIE, cookie)], Redirect::to(back)).into_response()
}
