//! The proxy: the only way out of a network namespace without routes. Connects to listed hosts only, and logs
//! everything.
//!
//! The listening sockets were created inside the namespace and stay there. The process that accepts on them runs
//! outside and connects from there. So a program inside can only reach the listed hosts: no other socket connects
//! outside. Clients are hostile: every size, number and wait has a limit in [`Limits`].

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
pub use log::{Connection, Summary, Verdict, Why, read_log, summary};
pub use variables::variables;

/// A socket that listens inside.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// The service that it offers to clients.
    pub role: Role,
}

/// The service of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An HTTP proxy.
    Proxy,
    /// A connection to this host, as if it listened there itself: for services on the machine's loopback, for which
    /// programs don't use a proxy. The host must be listed like any other.
    Forward(Host),
}

/// Resolves a name to addresses.
pub type Resolve = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// The proxy's dependencies.
#[derive(Clone)]
pub struct Outside {
    /// Resolves a name to addresses.
    pub resolve: Resolve,
    /// The clock for log entries.
    pub now: fn() -> Timestamp,
    /// Limits for clients.
    pub limits: Limits,
}

/// Limits for clients. [`Limits::default`] has the reason for each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Timeout for receiving a request head.
    pub head: Duration,
    /// Timeout for a DNS lookup.
    pub lookup: Duration,
    /// Timeout for connecting.
    pub connect: Duration,
    /// Maximum time without a byte in either direction.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Two descriptors each, of the 1024 a process has by default. A package manager opens about fifty.
            connections: 256,
            // A client on the same machine needs milliseconds.
            head: Duration::from_secs(10),
            // Enough for the system's resolver to ask two servers twice.
            lookup: Duration::from_secs(20),
            // A host that takes longer counts as down.
            connect: Duration::from_secs(20),
            // A model may think for a long time without output; most send something every minute.
            idle: Duration::from_mins(15),
        }
    }
}

impl Outside {
    /// Uses the machine's resolver and clock.
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

/// Pause after `accept` failed: the process is out of descriptors, and retrying at once does not help.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);
/// Stack size of a connection's thread. Its buffers are on the heap.
const STACK: usize = 128 * 1024;

/// Serves the listeners until the process ends. `log` must be open for appending.
pub fn serve(listeners: Vec<Listener>, hosts: &[Host], log: File, outside: Outside) -> ! {
    let gate = Arc::new(Gate::new(hosts, Log::new(log, outside.now), outside));
    let count = Arc::new(AtomicUsize::new(0));
    for listener in &listeners {
        // If this fails, `accept` blocks when a client disconnects at the wrong moment.
        let _ = listener.socket.set_nonblocking(true);
    }
    loop {
        let mut asked: Vec<PollFd> =
            listeners.iter().map(|listener| PollFd::new(&listener.socket, PollFlags::IN)).collect();
        // No timeout: this process has nothing else to do, and dies with its parent.
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

/// Starts a thread for a connection, or refuses it.
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
            // This does not block, because the socket buffer is empty. The client may ignore it.
            let _ = client.write_all(&client::answer(client::Status::Full, "too many connections at a time"));
        }
    }
}

/// Counts a connection against the limit while it lives.
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
