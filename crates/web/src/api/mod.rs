//! The HTTP API below `/api/v1`: everything the command line does with tasks, for programs.
//!
//! An HTTP request passes the guard of the server (host, origin, token), is matched to a [`Route`], checked against the
//! route's role and schema, and becomes one call of a use case in the name of the caller. [`routes`] is the only list
//! of routes: the OpenAPI document and the page at `/api` are generated from it. The parts: [`schema`] generates
//! schemas from types, [`problem`] formats errors, [`idempotency`] performs a repeated request once, [`audit`] records
//! the caller, [`stream`] sends events as they happen.

mod actions;
pub mod audit;
mod convert;
mod idempotency;
mod look;
mod openapi;
mod page;
pub mod problem;
mod route;
mod schedules;
mod schema;
mod stream;
mod tasks;
mod types;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use acquit_app::Notice;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde_json::{Value, json};

use crate::access::{Caller, Files, Limiter, Rate};
use crate::page::Place;
use crate::shared::Shared;
use problem::Problem;
use route::{At, Context, Route};
use schema::Schemas;

/// Version of acquit.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum size of a body.
const BODY: usize = 1024 * 1024;
/// Timeout for receiving a body.
const ARRIVES: Duration = Duration::from_secs(15);
/// Rate limits for reads and writes: more than any page or script needs, less than what would overload the store.
pub const READS: Rate = Rate { burst: 400, every: Duration::from_millis(10) };
pub const WRITES: Rate = Rate { burst: 100, every: Duration::from_millis(100) };

/// All routes, with what is generated from them.
pub struct Api {
    routes: Vec<Route>,
    schemas: Schemas,
    document: String,
    reads: Limiter,
    writes: Limiter,
}

impl Api {
    /// Creates the API.
    pub fn new() -> Self {
        let routes: Vec<Route> =
            [tasks::routes(), actions::routes(), schedules::routes(), workers::routes(), look::routes()]
                .concat();
        let (document, schemas) = openapi::document(&routes);
        let document = serde_json::to_string_pretty(&document).unwrap_or_default();
        Self { routes, schemas, document, reads: Limiter::new(READS), writes: Limiter::new(WRITES) }
    }

    /// Returns the route for an HTTP request, with the parts of its path.
    fn find(&self, method: &Method, path: &str) -> Result<(&Route, At), Problem> {
        let mut allowed: Vec<String> = Vec::new();
        for route in &self.routes {
            let Some(at) = matched(route.path, path) else { continue };
            if route.method.eq_ignore_ascii_case(method.as_str()) {
                for (name, text) in &at.0 {
                    self.check_part(name, text)?;
                }
                return Ok((route, at));
            }
            allowed.push(route.method.to_uppercase());
        }
        if allowed.is_empty() {
            let problem = Problem::new("not-found", "there is nothing at this address");
            return Err(problem.hint("GET /api/v1/openapi.json lists all addresses"));
        }
        let allowed = allowed.join(", ");
        Err(Problem::new("method-not-allowed", format!("use {allowed}")).header("allow", allowed))
    }

    fn check_part(&self, name: &str, text: &str) -> Result<(), Problem> {
        let schema = route::part(name);
        let value = match schema["type"].as_str() {
            Some("integer") => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            _ => json!(text),
        };
        // A parser accepts `+5` and `05` as numbers, but other clients do not.
        let plain = value.as_i64().is_none_or(|number| number.to_string() == text);
        match schema::check(&self.schemas, &schema, &value, name) {
            Ok(()) if plain => Ok(()),
            Ok(()) => Err(Problem::new("not-found", format!("{name} is not a plain number"))),
            Err(why) => Err(Problem::new("not-found", why)),
        }
    }
}

/// Returns the parts of a path, if it matches the pattern.
fn matched(pattern: &str, path: &str) -> Option<At> {
    let (mut parts, mut rest) = (BTreeMap::new(), path.split('/'));
    for wanted in pattern.split('/') {
        let given = rest.next()?;
        match wanted.strip_prefix('{').and_then(|wanted| wanted.strip_suffix('}')) {
            Some(name) => {
                parts.insert(name.to_owned(), route::percent_decoded(given)?);
            }
            None if wanted == given => {}
            None => return None,
        }
    }
    rest.next().is_none().then_some(At(parts))
}

/// Returns the routes of the server that belong to the API.
pub fn router() -> axum::Router<Arc<Shared>> {
    axum::Router::new()
        .route("/api", get(show))
        .route("/api/v1/openapi.json", get(document))
        .route("/api/{*path}", any(handle))
        .layer(Extension(Arc::new(Api::new())))
}

async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(api): Extension<Arc<Api>>,
    headers: HeaderMap,
) -> Response {
    crate::pages::show(shared, headers, Place::Still, move |shared, _| {
        let files = Files::below(&shared.app.surroundings.home);
        // The server wrote its address there when it started.
        let origin = std::fs::read_to_string(files.address()).unwrap_or_default();
        Ok(page::content(&api.routes, origin.trim()))
    })
    .await
}

async fn document(Extension(api): Extension<Arc<Api>>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], api.document.clone()).into_response()
}

/// A parsed HTTP request.
struct Asked {
    route: Route,
    at: At,
    input: Value,
    path: String,
    key: Option<String>,
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    Extension(api): Extension<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let words = format!("{} {}", request.method(), request.uri().path());
    let follow = stream::wanted(request.headers());
    let last = stream::last_event(request.headers());
    let answer = match read(&api, &caller, request).await {
        Ok(asked) if follow && asked.route.id == "listEvents" => {
            let cursor = asked.input["cursor"].as_str().and_then(|cursor| cursor.parse().ok());
            return stream::stream(shared, last.or(cursor)).await;
        }
        Ok(asked) => perform(&shared, &caller, asked).await,
        Err(problem) => Err(problem),
    };
    let (status, response) = match answer {
        Ok((status, body, replayed)) => {
            let kind = if status < 400 { "application/json" } else { "application/problem+json" };
            let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = (code, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response();
            if replayed {
                response
                    .headers_mut()
                    .insert("idempotency-replayed", header::HeaderValue::from_static("true"));
            }
            (status, response)
        }
        Err(problem) => (problem.status(), problem.into_response()),
    };
    if writes {
        note(&shared, &caller, words, status).await;
    }
    response
}

/// Records a write request in the audit log.
pub async fn note(shared: &Arc<Shared>, caller: &Caller, request: String, status: u16) {
    let caller = caller.clone();
    let done = shared.pool.run(move |app, _| {
        let files = Files::below(&app.surroundings.home);
        let at = (app.runtime.now)();
        if let Err(error) = audit::write(&files, at, &caller, request, status) {
            app.warn(format!("the audit log cannot be written: {error}"));
        }
        Ok::<_, acquit_app::Error>(())
    });
    done.await;
}

/// Matches and validates an HTTP request.
async fn read(api: &Api, caller: &Caller, request: Request) -> Result<Asked, Problem> {
    let full = request.uri().path().to_owned();
    let path = full.strip_prefix("/api/v1").unwrap_or("/").to_owned();
    let (route, at) = api.find(request.method(), &path)?;
    let limiter = if route.writes() { &api.writes } else { &api.reads };
    if let Err(wait) = limiter.take(&caller.name, Instant::now()) {
        let seconds = (wait.as_secs() + 1).to_string();
        let problem = Problem::new("too-many-requests", format!("wait {seconds} s"));
        return Err(problem.header("retry-after", seconds));
    }
    if caller.role < route.role {
        let detail = format!("{} has the role {}", caller.name, caller.role.name());
        let hint = format!("use a token with the role {}", route.role.name());
        return Err(Problem::new("forbidden", detail).hint(hint));
    }
    let schema = (route.input)(&mut Schemas::default());
    let invalid = |why: String| Problem::new("invalid", why);
    let text = request.uri().query().unwrap_or_default().to_owned();
    let (route, mut key) = (route.clone(), None);
    let input = if route.writes() {
        if !text.is_empty() {
            return Err(invalid("this address takes no query".to_owned()));
        }
        key = idempotency_key(request.headers())?;
        body(request).await?
    } else {
        route::query(&api.schemas, &schema, &text).map_err(invalid)?
    };
    schema::check(&api.schemas, &schema, &input, if route.writes() { "body" } else { "query" })
        .map_err(invalid)?;
    Ok(Asked { route, at, input, path: full, key })
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let bad = || Problem::new("invalid", "Idempotency-Key must have 1 to 255 visible ASCII characters");
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(key) = given.next() else { return Ok(None) };
    let key = key.to_str().map_err(|_| bad())?;
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if given.next().is_some() || key.is_empty() || key.len() > idempotency::LONGEST || !visible {
        return Err(bad());
    }
    Ok(Some(key.to_owned()))
}

/// Parses the body as JSON. An empty body is an object without fields.
async fn body(request: Request) -> Result<Value, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).cloned();
    let read = tokio::time::timeout(ARRIVES, axum::body::to_bytes(into_body(request), BODY)).await;
    let bytes: Bytes = match read {
        Err(_) => {
            return Err(Problem::new(
                "timeout",
                format!("the body must arrive within {} s", ARRIVES.as_secs()),
            ));
        }
        Ok(Err(error)) => {
            let large = error.to_string().contains("length limit");
            let (kind, detail) = if large {
                ("too-large", format!("at most {BODY} bytes"))
            } else {
                ("malformed", error.to_string())
            };
            return Err(Problem::new(kind, detail));
        }
        Ok(Ok(bytes)) => bytes,
    };
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    let essence = kind.as_ref().and_then(|kind| kind.to_str().ok()?.split(';').next().map(str::trim));
    if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Err(Problem::new("unsupported-media-type", "send Content-Type: application/json"));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::new("malformed", format!("the body is not JSON: {error}")))
}

fn into_body(request: Request) -> Body {
    request.into_body()
}

type Done = (u16, Value, bool);

/// Performs an HTTP request, once for each idempotency key.
async fn perform(shared: &Arc<Shared>, caller: &Caller, asked: Asked) -> Result<Done, Problem> {
    let (held, caller) = (Arc::clone(shared), caller.clone());
    let done = shared.pool.run(move |app, store| {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&heard);
        let notices = Box::new(move |notice: &Notice| {
            let line = match notice {
                Notice::Warning(text) => text.clone(),
                Notice::ConfigurationUpdated(lines) => format!("configuration updated: {}", lines.join("; ")),
                Notice::Log { .. } => return,
            };
            told.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        });
        let own = app.acting_as(&caller.name, &app.surroundings.here, notices);
        let Asked { route, at, input, path, key } = asked;
        let files = Files::below(&app.surroundings.home);
        let claim = match &key {
            None => None,
            Some(key) => {
                let request = idempotency::digest(&[route.method, &path, &input.to_string()]);
                let reserve = || match route.id {
                    "createTask" => Ok(Some(store.reserve()?)),
                    _ => Ok::<_, Problem>(None),
                };
                match idempotency::begin(&files, &caller.name, key, &request, (app.runtime.now)(), reserve)? {
                    idempotency::Known::Do(claim) => Some(claim),
                    idempotency::Known::Done(status, body) => return Ok((status, body, true)),
                    idempotency::Known::Busy => {
                        return Err(Problem::new("in-progress", "wait for the answer to the first request"));
                    }
                    idempotency::Known::Other => {
                        let detail = "this idempotency key belongs to another request";
                        return Err(Problem::new("unprocessable", detail).hint("use a new key"));
                    }
                }
            }
        };
        let reserved = claim.as_ref().and_then(|claim| claim.task);
        let mut context = Context { app: &own, store, caller: &caller, shared: &held, reserved };
        let result = route.run(&mut context, &at, input);
        let (status, mut body) = match result {
            Ok(body) => (200, body),
            // Don't store errors that may go away on a retry.
            Err(problem) if problem.status() >= 500 => return Err(problem),
            Err(problem) => (problem.status(), problem.document()),
        };
        let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(notices) = body.get_mut("notices") {
            *notices = json!(heard);
        } else if let Some(notices) = body.pointer_mut("/task/notices") {
            *notices = json!(heard);
        }
        if let Some(claim) = claim {
            claim.keep(status, &body)?;
        }
        Ok((status, body, false))
    });
    done.await.unwrap_or_else(|| {
        Err(Problem::new("internal", "the request came to no end").hint("the log of acquit serve says more"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_matched_by_its_own_route_and_parts_are_checked() {
        let api = Api::new();
        let find = |method: Method, path: &str| {
            api.find(&method, path).map(|(route, _)| route.id).map_err(|problem| problem.status())
        };
        assert_eq!(find(Method::GET, "/tasks"), Ok("listTasks"));
        assert_eq!(find(Method::POST, "/tasks"), Ok("createTask"));
        assert_eq!(find(Method::GET, "/tasks/T-1/legs/2/output"), Ok("getOutput"));
        assert_eq!(find(Method::DELETE, "/tasks"), Err(405));
        for path in [
            "/",
            "",
            "/tasks/",
            "/tasks/T-0",
            "/tasks/1",
            "/tasks/t-1",
            "/tasks/T-1/legs/0/output",
            "/tasks/T-1/legs/+2/output",
            "/tasks/T-1%2f",
            "/tasks/%ff",
            "/nothing",
        ] {
            assert_eq!(find(Method::GET, path), Err(404), "{path}");
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_writes_need_an_operator() {
        let api = Api::new();
        let mut ids: Vec<&str> = api.routes.iter().map(|route| route.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), api.routes.len());
        for route in &api.routes {
            assert!(!route.writes() || route.role >= crate::access::Role::Operator, "{}", route.id);
        }
        let document: Value = serde_json::from_str(&api.document).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        let text = &api.document;
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
