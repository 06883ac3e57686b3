//! A scripted model on loopback, for tests with real agent programs.
//!
//! It implements the four protocols that agents use: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
//! Gemini's generateContent, each streamed and whole. It keeps no conversations. A `[[name]]` in the last marked user
//! message selects the script, and what follows that message selects the step. So any number of agents can share one
//! model, and a resumed session continues where it was. A call without tools, such as agents make to find a title, gets
//! [`SIDE`]. Every request is recorded for the test.
//!
//! Every wait has a limit, and dropping the [`Model`] ends all waits.

mod anthropic;
mod chat;
mod choose;
mod gemini;
pub(crate) mod http;
mod responses;
mod script;
mod serve;
mod tools;
mod usual;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use script::{Answer, Call, Fault, Refusal, Scripts, Step, Stop};
pub use usual::usual;

/// The answer to a call without tools or without a script.
pub const SIDE: &str = "a title";

/// Timeout for reading a request and writing an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A recorded request, without credentials.
#[derive(Clone, Debug)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path with the query, without keys.
    pub path: String,
    /// Headers with lowercase names. Of a credential only its kind is recorded.
    pub headers: Vec<(String, String)>,
    /// Body, or null if there was none or it was not JSON.
    pub body: serde_json::Value,
    /// Script and step that answered; `None` for a side call.
    pub step: Option<(String, usize)>,
}

impl Request {
    /// Returns a header by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A running model; it stops when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// The state that the threads of a model share.
#[derive(Debug, Default)]
struct Shared {
    scripts: Scripts,
    requests: Mutex<Vec<Request>>,
    ended: Mutex<bool>,
    ending: Condvar,
}

impl Shared {
    fn is_over(&self) -> bool {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this long, or until the model stops.
    fn wait(&self, limit: Duration) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Either result ends the wait.
        drop(self.ending.wait_timeout_while(ended, limit, |ended| !*ended));
    }

    /// Records a request. Returns the number of earlier requests of its step.
    fn keep(&self, request: Request) -> usize {
        let mut kept = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.iter().filter(|other| other.step.is_some() && other.step == request.step).count();
        kept.push(request);
        before
    }
}

impl Model {
    /// Starts a model with these scripts on a free port.
    pub fn start(scripts: impl Into<Scripts>) -> std::io::Result<Self> {
        Self::start_at(scripts, 0)
    }

    /// Starts a model on this port.
    pub fn start_at(scripts: impl Into<Scripts>, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { scripts: scripts.into(), ..Shared::default() });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &theirs));
        Ok(Self { address, shared, listener: Some(thread) })
    }

    /// Returns `http://127.0.0.1:` and the port, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the requests that a script answered.
    pub fn scripted(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.step.is_some()).collect()
    }

    /// Waits until scripts answered this many requests. Returns whether they did in time.
    pub fn wait_for(&self, scripted: usize, limit: Duration) -> bool {
        self.wait_until(limit, || self.scripted().len() >= scripted)
    }

    /// Waits for this many requests of any kind. Returns whether they came in time.
    pub fn wait_for_any(&self, requests: usize, limit: Duration) -> bool {
        self.wait_until(limit, || self.requests().len() >= requests)
    }

    fn wait_until(&self, limit: Duration, held: impl Fn() -> bool) -> bool {
        /// Poll interval.
        const PAUSE: Duration = Duration::from_millis(5);
        let until = Instant::now() + limit;
        while !held() {
            if Instant::now() >= until {
                return false;
            }
            self.shared.wait(PAUSE);
        }
        true
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.ending.notify_all();
        // The listener checks the flag after each connection; this is the last.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.listener.take() {
            // A panic in there was printed, and a panicking test must not panic again.
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over() {
            return;
        }
        // Ignore a client that left before it was accepted.
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // The client already noticed if the connection broke.
            let _ = serve::connection(stream, &shared);
        });
    }
}
