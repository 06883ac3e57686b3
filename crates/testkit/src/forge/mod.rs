//! A forge on the loopback that keeps the rules of the real ones, over real bare repositories that git pushes to.
//!
//! It speaks two dialects, GitHub's and GitLab's, as far as acquit uses them: a second request for a branch is refused, a
//! head must be there and be ahead of its base, tokens have rights, lists have pages. Git's own `http-backend` serves
//! the repositories, so that pushes, leases and protected branches are git's. And it goes wrong when it is told to: before or
//! after the effect, slowly, or by a limit. Every call is kept for the test to look at.

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

/// How long a request may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest page of a list. A real forge's have a hundred entries; these are smaller, so that tests see several.
const PAGE: usize = 2;

/// Whose language is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// GitHub Enterprise's, below `/api/v3`.
    GitHub,
    /// GitLab's, below `/api/v4`.
    GitLab,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Read everything.
    Read,
    /// Push, but change nothing else.
    Push,
    /// Push and change everything.
    Write,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// With this status, and nothing has happened.
    Before(u16),
    /// With this status, after it has happened.
    After(u16),
    /// The connection breaks after it has happened.
    Cut,
    /// No more calls for so many seconds.
    Limit(u64),
    /// It takes so long.
    Slow(Duration),
    /// It says with this status that the project is at another host.
    Moved(u16),
}

/// A call of the API as it came, without its token.
#[derive(Clone, Debug)]
pub struct Called {
    /// `POST` and the like.
    pub method: String,
    /// Below the API, with the query.
    pub path: String,
    /// Its body, or null.
    pub body: Value,
    /// The status of the answer.
    pub status: u16,
}

/// What a part of a dialect answers.
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

/// A running forge; it ends when this is dropped.
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
    /// What it calls itself in what it answers: scheme, host and port.
    public: Mutex<String>,
    /// How long pages may be.
    page: Mutex<usize>,
    /// What happens while somebody pushes.
    pushed: Mutex<Option<Box<dyn Fn() + Send>>>,
    calls: Mutex<Vec<Called>>,
    ended: Mutex<bool>,
    ending: Condvar,
}

impl Forge {
    /// A forge without projects, at a port of its own.
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

    /// Lets it call itself by another address than its own: that of what stands in front of it.
    #[must_use]
    pub fn called(self, public: &str) -> Self {
        public.clone_into(&mut lock(&self.shared.public));
        self
    }

    /// The address of its API.
    pub fn api(&self) -> String {
        format!("{}{}", self.shared.public(), self.shared.prefix())
    }

    /// Host and port.
    pub fn host(&self) -> String {
        let public = self.shared.public();
        public.split_once("://").map_or(public.clone(), |(_, host)| host.to_owned())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes a project of a repository's branch `main`.
    pub fn project(&self, name: &str, from: &Path) {
        let bare = self.shared.repository(name);
        std::fs::create_dir_all(&bare).expect("a folder");
        repo::git(&bare, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        repo::git(&bare, &["config", "http.receivepack", "true"]);
        repo::git(from, &["push", "--quiet", &bare.to_string_lossy(), "HEAD:refs/heads/main"]);
        lock(&self.shared.state).add_project(name);
    }

    /// Makes a project a copy of another.
    pub fn fork(&self, of: &str, name: &str) {
        let from = self.shared.repository(of);
        self.project(name, &from);
    }

    /// The address that git pushes to.
    pub fn url(&self, project: &str) -> String {
        format!("{}/{project}.git", self.shared.public())
    }

    /// The bare repository of a project.
    pub fn repository(&self, project: &str) -> PathBuf {
        self.shared.repository(project)
    }

    /// Where a branch of a project is.
    pub fn branch(&self, project: &str, branch: &str) -> Option<String> {
        self.shared.commit(project, branch)
    }

    /// Lets a token in, which belongs to a user of this name.
    pub fn allow(&self, token: &str, user: &str, rights: Rights) {
        let mut state = lock(&self.shared.state);
        state.tokens.retain(|(known, _, _)| known != token);
        state.tokens.push((token.to_owned(), user.to_owned(), rights));
        state.user(user);
    }

    /// A user who can be asked.
    pub fn user(&self, name: &str) {
        lock(&self.shared.state).user(name);
    }

    /// Lets nobody move branches that begin so.
    pub fn protect(&self, project: &str, prefix: &str) {
        let hook = self.repository(project).join("hooks/update");
        let text = format!(
            "#!/bin/sh\ncase \"$1\" in refs/heads/{prefix}*) echo 'GH006: Protected branch update failed' >&2; exit 1;; esac\n"
        );
        repo::write(&hook, &text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).expect("a hook");
    }

    /// Lets the next call that has this method and this in its path go wrong. Said twice, the next two do. The method `GIT` is
    /// whatever git asks for, which can fail before anything has happened.
    pub fn fail(&self, method: &str, path: &str, fault: Fault) {
        lock(&self.shared.faults).push((method.to_owned(), path.to_owned(), fault));
    }

    /// Makes a project demand something of requests before they are merged.
    pub fn require(&self, project: &str, rule: Rule) {
        lock(&self.shared.state).rules.push((project.to_owned(), rule));
    }

    /// Does this while a push waits for its answer.
    pub fn when_pushed(&self, does: impl Fn() + Send + 'static) {
        *lock(&self.shared.pushed) = Some(Box::new(does));
    }

    /// Lets pages be as long as those of real forges, where a test has so many entries.
    pub fn pages_of(&self, length: usize) {
        *lock(&self.shared.page) = length;
    }

    /// All requests, open or not, oldest first.
    pub fn pulls(&self) -> Vec<Pull> {
        lock(&self.shared.state).pulls.clone()
    }

    /// Opens a request as a person would, for a branch that is there. Forges keep a ref of every request.
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

    /// Changes a request as a person would on its page.
    pub fn edit(&self, number: u64, edit: impl FnOnce(&mut Pull)) {
        let mut state = lock(&self.shared.state);
        edit(state.pulls.iter_mut().find(|pull| pull.number == number).expect("a request"));
    }

    /// All calls of the API, oldest first.
    pub fn calls(&self) -> Vec<Called> {
        lock(&self.shared.calls).clone()
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        *lock(&self.shared.ended) = true;
        self.shared.ending.notify_all();
        // The listener wakes up by one more connection.
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

    /// Who pushes: nobody, a user who may, or one who may not.
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

/// A page of a list, as both dialects cut them, with the headers that name the next.
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
