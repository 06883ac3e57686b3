//! The only way out of a network namespace without a route: a proxy that lets through what is listed, and logs everything.
//!
//! The listening sockets lie inside the namespace, where they were made; the process that accepts on them lies outside, and
//! connects onward from there. So a program inside reaches the listed hosts and nobody else, whatever it does: there is no
//! other socket that leads anywhere. Clients are hostile: every size, every number and every wait has a limit in [`Limits`].

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use acquit_core::sandbox::Host;
use acquit_core::time::Timestamp;
use rustix::event::{PollFd, PollFlags, poll};

use crate::pause::pause;
use client::Gate;
use log::Log;

mod address;
mod body;
mod client;
mod log;
mod name;
mod relay;
mod request;
mod variables;

pub use address::not_public;
pub use log::{Connection, Verdict, Why, read_log, refused_host, summary};
pub use variables::variables;

/// A socket that listens inside.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// What its clients are given.
    pub role: Role,
}

/// What the clients of a socket are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A proxy that they have to ask.
    Proxy,
    /// This host, as if it listened there itself: for a service on the machine's own loopback, which programs do not look for
    /// behind a proxy. It has to be listed like any other.
    Forward(Host),
}

/// Finds the addresses of a name.
pub type Resolve = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// What the proxy has around it.
#[derive(Clone)]
pub struct Outside {
    /// Finds the addresses of a name.
    pub resolve: Resolve,
    /// The clock for the times in the log.
    pub now: fn() -> Timestamp,
    /// What clients may use up.
    pub limits: Limits,
}

/// What clients may use up. Each has its reason at [`Limits::default`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// For a request's head to be there.
    pub head: Duration,
    /// For a name to be looked up.
    pub lookup: Duration,
    /// For a connection to be made.
    pub connect: Duration,
    /// Without a byte in either way.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Two descriptors each, of the 1024 that a process has by default; a package manager opens some fifty.
            connections: 256,
            // A client on the same machine needs milliseconds.
            head: Duration::from_secs(10),
            // The system's resolver asks two servers twice in that time.
            lookup: Duration::from_secs(20),
            // What is slower is not there.
            connect: Duration::from_secs(20),
            // A model that thinks for long says nothing; most send something every minute.
            idle: Duration::from_mins(15),
        }
    }
}

impl Outside {
    /// The machine itself.
    pub fn system() -> Self {
        Self {
            resolve: Arc::new(|name| Ok((name, 0).to_socket_addrs()?.map(|found| found.ip()).collect())),
            now: || {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
                Timestamp(now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000))
            },
            limits: Limits::default(),
        }
    }
}

/// How long nothing is accepted after the system refused to: it is out of descriptors, and trying again at once does not help.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);
/// Of the thread of a connection, whose buffers are not on it.
const STACK: usize = 128 * 1024;

/// Serves the listeners until the process ends. `log` must be open for appending.
pub fn serve(listeners: Vec<Listener>, hosts: &[Host], log: File, outside: Outside) -> ! {
    let gate = Arc::new(Gate::new(hosts, Log::new(log, outside.now), outside));
    let count = Arc::new(AtomicUsize::new(0));
    for listener in &listeners {
        // Where this fails, accepting blocks, and only a client that goes away at the wrong moment is noticed.
        let _ = listener.socket.set_nonblocking(true);
    }
    loop {
        let mut asked: Vec<PollFd> =
            listeners.iter().map(|listener| PollFd::new(&listener.socket, PollFlags::IN)).collect();
        // Without a limit: this process has nothing else to do, and ends with its parent.
        if poll(&mut asked, None).is_err() {
            continue;
        }
        let ready: Vec<bool> = asked.iter().map(|asked| !asked.revents().is_empty()).collect();
        drop(asked);
        for (listener, _) in listeners.iter().zip(ready).filter(|(_, ready)| *ready) {
            match listener.socket.accept() {
                Ok((client, _)) => admit(&gate, &count, client, &listener.role),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => pause(OUT_OF_DESCRIPTORS),
            }
        }
    }
}

/// Gives a connection a thread of its own, or refuses it.
fn admit(gate: &Arc<Gate>, count: &Arc<AtomicUsize>, client: TcpStream, role: &Role) {
    if client.set_nonblocking(true).is_err() {
        return;
    }
    let spare = client.try_clone();
    let started = Permit::take(count, gate.limits().connections).is_some_and(|permit| {
        let (gate, role) = (Arc::clone(gate), role.clone());
        let work = move || gate.client(&client, &role, &Arc::new(permit));
        std::thread::Builder::new().stack_size(STACK).spawn(work).is_ok()
    });
    if !started {
        gate.full();
        if let (Role::Proxy, Ok(mut client)) = (role, spare) {
            // Into an empty buffer, so it does not block; who does not read it, does not.
            let _ = client.write_all(&client::answer(client::Status::Full, "too many connections at a time"));
        }
    }
}

/// The right to be one of the connections that there may be at a time.
struct Permit(Arc<AtomicUsize>);

impl Permit {
    fn take(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |now: usize| (now < most).then_some(now + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self(Arc::clone(count)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
