//! A fake forge on loopback that follows the rules of real ones, with real bare repositories that git pushes to.
//!
//! It implements the APIs of GitHub and GitLab as far as acquit uses them: a second pull request for a branch is
//! refused, a head must exist and be ahead of its base, tokens have permissions, lists have pages. Git's own
//! `http-backend` serves the repositories, so that pushes, leases and protected branches are git's. Tests can inject
//! faults: before or after the effect, slow answers, rate limits. All calls are recorded for the test.

mod backend;
mod github;
mod gitlab;
pub mod graphql;
mod merge;
mod state;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

pub use merge::Rule;
pub use state::{Pull, Remark};

use crate::model::http::{self, Raw};
use crate::repo;
use state::State;

/// Timeout for reading a request and writing an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum page size. Real forges have a hundred entries per page; this is smaller, so that tests see several pages.
const PAGE: usize = 2;

/// The API that the forge implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// GitHub Enterprise, below `/api/v3`.
    GitHub,
    /// GitLab, below `/api/v4`.
    GitLab,
}

/// The permissions of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Read everything.
    Read,
    /// Push, but change nothing else.
    Push,
    /// Push and change everything.
    Write,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fails with this status, without effect.
    Before(u16),
    /// Fails with this status, after the effect.
    After(u16),
    /// The connection breaks after the effect.
    Cut,
    /// Rate limit for this many seconds.
    Limit(u64),
    /// Delays the answer.
    Slow(Duration),
    /// Redirects with this status, because the project moved to another host.
    Moved(u16),
}

/// A recorded API call, without its token.
#[derive(Clone, Debug)]
pub struct Called {
    /// HTTP method.
    pub method: String,
    /// Path below the API, with the query.
    pub path: String,
    /// Body, or null.
    pub body: Value,
    /// Status of the answer.
    pub status: u16,
}

/// An answer of the API.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Reply {
    fn new(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    fn message(status: u16, words: &str) -> Self {
        Self::new(status, json!({ "message": words }))
    }
}

/// A running forge; it stops when dropped.
pub struct Forge {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    dialect: Dialect,
    root: TempDir,
    state: Mutex<State>,
    faults: Mutex<Vec<(String, String, Fault)>>,
    /// Its public address in answers: scheme, host and port.
    public: Mutex<String>,
    /// Maximum page size.
    page: Mutex<usize>,
    /// Callback during a push.
    pushed: Mutex<Option<Box<dyn Fn() + Send>>>,
    calls: Mutex<Vec<Called>>,
    ended: Mutex<bool>,
    ending: Condvar,
}

impl Forge {
    /// Starts a forge without projects, on a free port.
    pub fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback");
        let address = listener.local_addr().expect("it is bound");
        let root = TempDir::with_prefix("acquit-forge-").expect("a temporary folder");
        let shared = Arc::new(Shared {
            dialect,
            root,
            state: Mutex::default(),
            faults: Mutex::default(),
            public: Mutex::new(format!("http://{address}")),
            page: Mutex::new(PAGE),
            pushed: Mutex::default(),
            calls: Mutex::default(),
            ended: Mutex::new(false),
            ending: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let listener = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if *lock(&theirs.ended) {
                    break;
                }
                let shared = Arc::clone(&theirs);
                std::thread::spawn(move || shared.serve(&stream));
            }
        });
        Self { address, shared, listener: Some(listener) }
    }

    /// Sets another public address: that of a server in front of it.
    #[must_use]
    pub fn called(self, public: &str) -> Self {
        public.clone_into(&mut lock(&self.shared.public));
        self
    }

    /// Returns the API address.
    pub fn api(&self) -> String {
        format!("{}{}", self.shared.public(), self.shared.prefix())
    }

    /// Returns host and port.
    pub fn host(&self) -> String {
        let public = self.shared.public();
        public.split_once("://").map_or(public.clone(), |(_, host)| host.to_owned())
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a project from the branch `main` of a repository.
    pub fn project(&self, name: &str, from: &Path) {
        let bare = self.shared.repository(name);
        std::fs::create_dir_all(&bare).expect("a folder");
        repo::git(&bare, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        repo::git(&bare, &["config", "http.receivepack", "true"]);
        repo::git(from, &["push", "--quiet", &bare.to_string_lossy(), "HEAD:refs/heads/main"]);
        lock(&self.shared.state).add_project(name);
    }

    /// Forks a project.
    pub fn fork(&self, of: &str, name: &str) {
        let from = self.shared.repository(of);
        self.project(name, &from);
    }

    /// Returns the address for git pushes.
    pub fn url(&self, project: &str) -> String {
        format!("{}/{project}.git", self.shared.public())
    }

    /// Returns the bare repository of a project.
    pub fn repository(&self, project: &str) -> PathBuf {
        self.shared.repository(project)
    }

    /// Returns the commit of a project's branch.
    pub fn branch(&self, project: &str, branch: &str) -> Option<String> {
        self.shared.commit(project, branch)
    }

    /// Adds a token of a user.
    pub fn allow(&self, token: &str, user: &str, rights: Rights) {
        let mut state = lock(&self.shared.state);
        state.tokens.retain(|(known, _, _)| known != token);
        state.tokens.push((token.to_owned(), user.to_owned(), rights));
        state.user(user);
    }

    /// Adds a user who can be a reviewer or assignee.
    pub fn user(&self, name: &str) {
        lock(&self.shared.state).user(name);
    }

    /// Protects branches with this prefix against any push.
    pub fn protect(&self, project: &str, prefix: &str) {
        let hook = self.repository(project).join("hooks/update");
        let text = format!(
            "#!/bin/sh\ncase \"$1\" in refs/heads/{prefix}*) echo 'GH006: Protected branch update failed' >&2; exit 1;; esac\n"
        );
        repo::write(&hook, &text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).expect("a hook");
    }

    /// Makes the next call with this method and path fail. Each call of this function adds one failure. The method
    /// `GIT` matches any request of git, which can fail only before the effect.
    pub fn fail(&self, method: &str, path: &str, fault: Fault) {
        lock(&self.shared.faults).push((method.to_owned(), path.to_owned(), fault));
    }

    /// Adds a requirement of a project for merges.
    pub fn require(&self, project: &str, rule: Rule) {
        lock(&self.shared.state).rules.push((project.to_owned(), rule));
    }

    /// Sets a callback that runs while a push waits for its answer.
    pub fn when_pushed(&self, does: impl Fn() + Send + 'static) {
        *lock(&self.shared.pushed) = Some(Box::new(does));
    }

    /// Sets the page size, for tests with as many entries as real pages have.
    pub fn pages_of(&self, length: usize) {
        *lock(&self.shared.page) = length;
    }

    /// Returns all pull requests in any state, oldest first.
    pub fn pulls(&self) -> Vec<Pull> {
        lock(&self.shared.state).pulls.clone()
    }

    /// Opens a pull request for an existing branch, as a person would. Forges keep a ref of every pull request.
    pub fn open(&self, project: &str, head: &str, base: &str, title: &str) -> u64 {
        let commit = self.branch(project, head).expect("the branch");
        let mut state = lock(&self.shared.state);
        let number = state.next_number(project);
        state.pulls.push(Pull {
            number,
            project: project.to_owned(),
            source: project.to_owned(),
            head: head.to_owned(),
            base: base.to_owned(),
            title: title.to_owned(),
            author: "bob".to_owned(),
            state: "open".to_owned(),
            ..Pull::default()
        });
        let kept = match self.shared.dialect {
            Dialect::GitHub => format!("refs/pull/{number}/head"),
            Dialect::GitLab => format!("refs/merge-requests/{number}/head"),
        };
        repo::git(&self.repository(project), &["update-ref", &kept, &commit]);
        number
    }

    /// Edits a pull request, as a person would on its page.
    pub fn edit(&self, number: u64, edit: impl FnOnce(&mut Pull)) {
        let mut state = lock(&self.shared.state);
        edit(state.pulls.iter_mut().find(|pull| pull.number == number).expect("a request"));
    }

    /// Returns all API calls, oldest first.
    pub fn calls(&self) -> Vec<Called> {
        lock(&self.shared.calls).clone()
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        *lock(&self.shared.ended) = true;
        self.shared.ending.notify_all();
        // One more connection wakes up the listener.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn public(&self) -> String {
        lock(&self.public).clone()
    }

    fn prefix(&self) -> &'static str {
        match self.dialect {
            Dialect::GitHub => "/api/v3",
            Dialect::GitLab => "/api/v4",
        }
    }

    fn repository(&self, project: &str) -> PathBuf {
        self.root.path().join(format!("{project}.git"))
    }

    fn commit(&self, project: &str, branch: &str) -> Option<String> {
        let bare = self.repository(project);
        let name = format!("refs/heads/{branch}");
        let there = repo::git_succeeds(&bare, &["rev-parse", "--verify", "--quiet", &name]);
        there.then(|| repo::git(&bare, &["rev-parse", &name]))
    }

    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let Ok(raw) = http::read(stream) else { return };
        if !raw.path.starts_with("/api/") {
            if let Some(Fault::Before(status)) = self.fault("GIT", &raw.path) {
                let _ = http::whole(stream, status, &[], &Value::Null);
                return;
            }
            if let Some(Fault::Moved(status)) = self.fault(&raw.method, &raw.path) {
                let to = ("location".to_owned(), format!("http://elsewhere.invalid{}", raw.path));
                let _ = http::whole(stream, status, &[to], &Value::Null);
                return;
            }
            let user = self.basic(&raw);
            if raw.method == "POST"
                && raw.path.ends_with("git-receive-pack")
                && let Some(does) = &*lock(&self.pushed)
            {
                does();
            }
            let _ = backend::serve(self.root.path(), &raw, user, stream);
            return;
        }
        let path = raw.path.strip_prefix(self.prefix()).unwrap_or(&raw.path).to_owned();
        let body: Value = serde_json::from_slice(&raw.body).unwrap_or(Value::Null);
        let fault = self.fault(&raw.method, &path);
        let reply = match fault {
            Some(Fault::Before(status)) => Reply::message(status, "told to fail before"),
            Some(Fault::Limit(seconds)) => {
                let mut reply = Reply::message(429, "API rate limit exceeded");
                reply.headers.push(("retry-after".to_owned(), seconds.to_string()));
                reply
            }
            Some(Fault::Moved(status)) => {
                let mut reply = Reply::message(status, "Moved Permanently");
                reply
                    .headers
                    .push(("location".to_owned(), "http://elsewhere.invalid/repositories/1".to_owned()));
                reply
            }
            Some(Fault::Slow(length)) => {
                let ended = lock(&self.ended);
                drop(self.ending.wait_timeout_while(ended, length, |ended| !*ended));
                self.answer(&raw, &path, &body)
            }
            Some(Fault::After(status)) => {
                self.answer(&raw, &path, &body);
                Reply::message(status, "told to fail after")
            }
            Some(Fault::Cut) => {
                self.answer(&raw, &path, &body);
                self.keep(&raw, path, body, 0);
                return;
            }
            None => self.answer(&raw, &path, &body),
        };
        self.keep(&raw, path, body, reply.status);
        let _ = http::whole(stream, reply.status, &reply.headers, &reply.body);
    }

    fn keep(&self, raw: &Raw, path: String, body: Value, status: u16) {
        lock(&self.calls).push(Called { method: raw.method.clone(), path, body, status });
    }

    fn fault(&self, method: &str, path: &str) -> Option<Fault> {
        let mut faults = lock(&self.faults);
        let at =
            faults.iter().position(|(wanted, part, _)| wanted == method && path.contains(part.as_str()))?;
        Some(faults.remove(at).2)
    }

    fn answer(&self, raw: &Raw, path: &str, body: &Value) -> Reply {
        let token = match self.dialect {
            Dialect::GitHub => raw.header("authorization").and_then(|value| value.strip_prefix("Bearer ")),
            Dialect::GitLab => raw.header("private-token"),
        };
        let mut state = lock(&self.state);
        let known = token.and_then(|token| state.tokens.iter().find(|(known, _, _)| known == token)).cloned();
        let Some((_, user, rights)) = known else {
            return Reply::message(401, if token.is_some() { "Bad credentials" } else { "401 Unauthorized" });
        };
        if raw.method != "GET" && rights != Rights::Write {
            return Reply::message(403, "Resource not accessible by personal access token");
        }
        let call = state::Call { shared: self, user: &user, method: &raw.method, path, body };
        match self.dialect {
            Dialect::GitHub => github::answer(&call, &mut state),
            Dialect::GitLab => gitlab::answer(&call, &mut state),
        }
    }

    /// Returns who pushes: an anonymous caller, or a user with or without write access.
    fn basic(&self, raw: &Raw) -> backend::Who {
        let Some(value) = raw.header("authorization").and_then(|value| value.strip_prefix("Basic ")) else {
            return backend::Who::Nobody;
        };
        let login = backend::decode(value);
        let password = login.split_once(':').map(|(_, password)| password.to_owned()).unwrap_or_default();
        let state = lock(&self.state);
        match state.tokens.iter().find(|(known, _, _)| *known == password) {
            None => backend::Who::Nobody,
            Some((_, _, Rights::Read)) => backend::Who::Reader,
            Some((_, user, Rights::Push | Rights::Write)) => backend::Who::Writer(user.clone()),
        }
    }
}

/// Returns a page of a list as both APIs do, with headers that name the next one.
pub(crate) fn page(call: &state::Call<'_>, all: Vec<Value>) -> Reply {
    let number = |key: &str, usual: usize| {
        call.query(key).and_then(|value| value.parse::<usize>().ok()).unwrap_or(usual).max(1)
    };
    let (size, page) = (number("per_page", 30).min(*lock(&call.shared.page)), number("page", 1));
    let more = all.len() > size * page;
    let list: Vec<Value> = all.into_iter().skip(size * (page - 1)).take(size).collect();
    let mut reply = Reply::new(200, Value::Array(list));
    if more {
        match call.shared.dialect {
            Dialect::GitHub => {
                let (path, query) = call.path.split_once('?').unwrap_or((call.path, ""));
                let rest: Vec<&str> = query.split('&').filter(|part| !part.starts_with("page=")).collect();
                let base = format!("{}{}", call.shared.public(), call.shared.prefix());
                let link = format!("<{base}{path}?{}&page={}>; rel=\"next\"", rest.join("&"), page + 1);
                reply.headers.push(("link".to_owned(), link));
            }
            Dialect::GitLab => reply.headers.push(("x-next-page".to_owned(), (page + 1).to_string())),
        }
    }
    reply
}
