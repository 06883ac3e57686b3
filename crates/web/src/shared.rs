//! State shared by all HTTP requests, and error pages.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acquit_app::figures::{Compared, Costs, Folded, midnight};
use acquit_app::flow::Flow;
use acquit_app::index::{PART, TaskIndex};
use acquit_app::{App, Error, Kind};
use acquit_core::store::Store;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::access::{Caller, Guard, Limiter, Role};
use crate::background::{Answers, Requests};
use crate::diffs::Diffs;
use crate::doctor::Examined;
use crate::listen::Peer;
use crate::live::Live;
use crate::page::{self, Theme};
use crate::pool::Pool;
use crate::refresh::Refreshes;

/// State shared by all HTTP requests.
pub struct Shared {
    /// The use cases.
    pub app: Arc<App>,
    /// Threads that run the use cases.
    pub pool: Pool,
    /// Live events for open pages.
    pub live: Arc<Live>,
    /// Access control.
    pub guard: Guard,
    /// Cache of the last shown diffs.
    pub diffs: Diffs,
    /// Index of all tasks, in memory.
    pub tasks: Mutex<TaskIndex>,
    /// Whether tasks are being read in the background.
    pub warming: AtomicBool,
    /// Whether there was a request since the last check.
    pub requested: AtomicBool,
    /// Number of pages that wait for the index.
    pub wanted: AtomicUsize,
    /// What the machine can enforce.
    pub examined: Examined,
    /// Sums over the tasks in the index.
    pub sums: Mutex<Sums>,
    /// Background of open requests to people.
    pub requests: Requests,
    /// Recent answers of people.
    pub answers: Answers,
    /// Pages that open tabs fetch again.
    pub refreshes: Refreshes,
    /// Rate limit for pages, by caller.
    pub looks: Limiter,
    /// Rate limit for forms, by caller.
    pub forms: Limiter,
    /// Rate limit for wrong tokens, by address.
    pub guesses: Limiter,
    /// Whether the server is behind a proxy.
    pub proxied: bool,
}

/// Sums over tasks, for pages that show figures.
#[derive(Default)]
pub struct Sums {
    /// Costs.
    pub costs: Folded<Costs>,
    /// Agents compared.
    pub agents: Folded<Compared>,
    /// How tasks moved through workflows.
    pub flows: Folded<Flow>,
}

/// Address of a client, for rate limits.
#[derive(Clone, Debug)]
pub struct Client(pub String);

/// The shared state as a handler receives it.
pub type Held = State<Arc<Shared>>;

impl Shared {
    /// Runs a job on a thread of the pool, in the name of the caller.
    pub async fn run_as<T: Send + 'static>(
        &self,
        caller: &Caller,
        job: impl FnOnce(&App, &mut dyn Store) -> Result<T, Error> + Send + 'static,
    ) -> Option<Result<T, Error>> {
        let name = caller.name.clone();
        let done = self.pool.run(move |app, store| {
            let own = app.acting_as(&name, &app.surroundings.here, Box::new(|_| {}));
            job(&own, store)
        });
        done.await
    }

    /// Returns the address of a client, for rate limits. Only trusts what the proxy added to `X-Forwarded-For`, not
    /// what the client itself wrote there.
    pub fn client(&self, request: &Request) -> String {
        let forwarded = request.headers().get_all("x-forwarded-for").iter().next_back();
        let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next().map(str::trim));
        match (self.proxied, last, request.extensions().get::<Peer>()) {
            (true, Some(last), _) => last.to_owned(),
            (_, _, Some(Peer(address))) => address.to_string(),
            (_, _, None) => String::new(),
        }
    }

    /// Returns the role of a caller; that of a viewer if they are not logged in.
    pub fn role(&self, headers: &HeaderMap) -> Role {
        let caller = self.guard.caller(headers, (self.app.runtime.now)());
        caller.map_or(Role::Viewer, |caller| caller.role)
    }

    /// Returns the repositories in which tasks can be added.
    pub fn places(&self, store: &mut dyn Store) -> Result<Vec<acquit_app::places::Place>, Error> {
        Ok(self.app.places(&*self.index(store)?))
    }

    /// Returns sums over tasks. Take the index first: the two are always locked in this order.
    pub fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index of tasks. Open tasks and those of today are up to date; older ones may still be unread.
    pub fn index(&self, store: &mut dyn Store) -> Result<MutexGuard<'_, TaskIndex>, Error> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let index = self.unwaited(store);
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        index
    }

    /// Returns the index with all tasks. Reads those that are still unread, in parts, so that pages need not wait for all.
    pub fn whole_index(&self, store: &mut dyn Store) -> Result<MutexGuard<'_, TaskIndex>, Error> {
        loop {
            let mut index = self.index(store)?;
            if index.unread() == 0 {
                return Ok(index);
            }
            index.read_more(store, PART)?;
        }
    }

    /// Returns the index of tasks, for callers that let pages go first.
    pub fn unwaited(&self, store: &mut dyn Store) -> Result<MutexGuard<'_, TaskIndex>, Error> {
        let today = midnight(store.now()?);
        let mut index = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        index.refresh(store)?;
        index.read_since(store, today)?;
        Ok(index)
    }
}

/// Renders an error page for a caller who may not be logged in.
pub fn told(status: StatusCode, title: &str, text: &str, hint: Option<&str>) -> Response {
    (status, Html(page::outside(title, page::message(title, text, hint)))).into_response()
}

/// Renders the error page of an error, for a caller who may not be logged in.
pub fn failed(error: Option<&Error>) -> Response {
    let (status, title, text, hint) = explained(error);
    told(status, title, &text, hint.as_deref())
}

/// Returns the status, title, text and hint of an error.
pub fn explained(error: Option<&Error>) -> (StatusCode, &'static str, String, Option<String>) {
    let Some(error) = error else {
        return (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong",
            "The page could not be made. The log of acquit serve says more.".to_owned(),
            None,
        );
    };
    let status = status(error);
    let title = if status == StatusCode::NOT_FOUND { "There is no such page" } else { "That did not work" };
    (status, title, format!("Failed to {}.", acquit_run::harness::chain(error)), error.hint())
}

/// Returns the HTTP status of an error.
pub fn status(error: &Error) -> StatusCode {
    match (error, error.kind()) {
        (Error::NoTask(_) | Error::NoLeg { .. } | Error::Store(acquit_core::store::Error::NoTask(_)), _) => {
            StatusCode::NOT_FOUND
        }
        (
            Error::Illegal { .. }
            | Error::Answered { .. }
            | Error::NotQueued { .. }
            | Error::NotStarted { .. }
            | Error::ForWorkers { .. }
            | Error::WorkChanged { .. }
            | Error::Store(acquit_core::store::Error::Conflict(_)),
            _,
        ) => StatusCode::CONFLICT,
        (_, Kind::Usage) => StatusCode::BAD_REQUEST,
        (_, Kind::Internal) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the theme in the person's cookie.
pub fn chosen_theme(headers: &HeaderMap) -> Theme {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut named =
        cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().strip_prefix("acquit-theme="));
    named.next().map(Theme::named).unwrap_or_default()
}
