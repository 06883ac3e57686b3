//! A model on the loopback that says what a script tells it: what real agent programs are driven against.
//!
//! It speaks the four protocols that agents use: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
//! Gemini's generateContent, each as a stream and whole. It holds no conversation. A `[[name]]` in the last marked
//! message of the user picks the script, and what came after that message picks the step: so any number of agents share
//! one model, and a session that is resumed goes on where it was. A call without tools, as agents make them to find a
//! title, gets [`SIDE`]. Every request is kept for the test to look at.
//!
//! Nothing here waits without a limit, and dropping the [`Model`] ends what is still waiting.

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

/// What a call without tools or without a script is answered with.
pub const SIDE: &str = "a title";

/// How long a request may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it came, without what authenticates it.
#[derive(Clone, Debug)]
pub struct Request {
    /// `POST` and the like.
    pub method: String,
    /// With the query, without a key in it.
    pub path: String,
    /// Names in lower case. Of a credential only its kind is kept.
    pub headers: Vec<(String, String)>,
    /// The body, or null where there was none or it was no JSON.
    pub body: serde_json::Value,
    /// The script that answered, and which of its steps; `None` for a side call.
    pub step: Option<(String, usize)>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A running model; it ends when this is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// What the threads of a model have in common.
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

    /// Waits for this long, or until the model ends.
    fn wait(&self, limit: Duration) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Either result is what was waited for.
        drop(self.ending.wait_timeout_while(ended, limit, |ended| !*ended));
    }

    /// Keeps a request; gives how often its step was asked for before.
    fn keep(&self, request: Request) -> usize {
        let mut kept = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.iter().filter(|other| other.step.is_some() && other.step == request.step).count();
        kept.push(request);
        before
    }
}

impl Model {
    /// A model with these scripts, at a port of its own.
    pub fn start(scripts: impl Into<Scripts>) -> std::io::Result<Self> {
        Self::start_at(scripts, 0)
    }

    /// The same at a certain port.
    pub fn start_at(scripts: impl Into<Scripts>, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { scripts: scripts.into(), ..Shared::default() });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &theirs));
        Ok(Self { address, shared, listener: Some(thread) })
    }

    /// `http://127.0.0.1:` and the port, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those that a script answered.
    pub fn scripted(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.step.is_some()).collect()
    }

    /// Waits until this many requests were answered by scripts; whether they were, in time.
    pub fn wait_for(&self, scripted: usize, limit: Duration) -> bool {
        self.wait_until(limit, || self.scripted().len() >= scripted)
    }

    /// Waits until this many requests came, of whatever kind; whether they did, in time.
    pub fn wait_for_any(&self, requests: usize, limit: Duration) -> bool {
        self.wait_until(limit, || self.requests().len() >= requests)
    }

    fn wait_until(&self, limit: Duration, held: impl Fn() -> bool) -> bool {
        /// Between two looks.
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
        // The listener looks at the flag after each connection; this is the last.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.listener.take() {
            // A panic in there has been printed, and a test that panics must not panic again.
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over() {
            return;
        }
        // A client that went away before it was accepted is none.
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Who talks to it has seen it already when the connection broke.
            let _ = serve::connection(stream, &shared);
        });
    }
}
