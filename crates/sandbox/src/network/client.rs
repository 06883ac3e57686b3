//! Serves one client of the proxy: reads its request, checks it, connects, relays and logs.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use acquit_core::sandbox::Host;
use rustix::event::PollFlags;

use super::body::Meter;
use super::log::{Cause, Log, Opening, Verdict, Why};
use super::name::{Hosts, Leads, Target};
use super::relay::{self, Upward};
use super::request::{self, Malformed, Request, Scan};
use super::{Limits, Outside, Permit, Role};

/// Maximum size of a request head. Servers usually accept 8 KiB.
const HEAD: usize = 16 * 1024;
/// Time for the client to read an error response and close the connection.
const FAREWELL: Duration = Duration::from_secs(2);
/// Maximum number of bytes to read from a client after its response.
const DRAINED: usize = 256 * 1024;
/// Maximum number of addresses of a name to try.
const MOST_ADDRESSES: u32 = 8;
/// Stack size of a DNS lookup thread: the system's resolver loads modules.
const LOOKUP_STACK: usize = 512 * 1024;

/// Status of an error response.
#[derive(Clone, Copy)]
pub enum Status {
    /// The request is malformed.
    Malformed,
    /// The target is not allowed.
    Refused,
    /// The target cannot be reached.
    Unreachable,
    /// There are too many connections.
    Full,
}

/// Returns a response with a one-line body.
pub fn answer(status: Status, words: &str) -> Vec<u8> {
    let status = match status {
        Status::Malformed => "400 Bad Request",
        Status::Refused => "403 Forbidden",
        Status::Unreachable => "502 Bad Gateway",
        Status::Full => "503 Service Unavailable",
    };
    let body = format!("acquit: {words}\n");
    let length = body.len();
    let kind = "Content-Type: text/plain; charset=utf-8\r\nConnection: close";
    format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// A connection that was not opened.
struct Closed {
    verdict: Verdict,
    cause: Cause,
}

/// Messages of the system's resolver for a name that does not exist. The standard library passes on no code.
const NO_SUCH_NAME: [&str; 2] = ["Name or service not known", "nodename nor servname provided"];

/// Checks, opens and logs connections.
pub struct Gate {
    hosts: Hosts,
    log: Log,
    outside: Outside,
}

impl Gate {
    /// Creates a gate for these hosts.
    pub fn new(hosts: &[Host], log: Log, outside: Outside) -> Self {
        Self { hosts: Hosts::new(hosts), log, outside }
    }

    /// Returns the limits for clients.
    pub fn limits(&self) -> &Limits {
        &self.outside.limits
    }

    /// Logs a connection that was refused because there are too many.
    pub fn full(&self) {
        self.note(None, Verdict::Refused, &"too many connections at a time".to_owned().into());
    }

    /// Serves a client until it is done.
    pub fn client(&self, client: &TcpStream, role: &Role, permit: &Arc<Permit>) {
        match role {
            Role::Proxy => self.proxy(client, permit),
            Role::Forward(host) => {
                let to = Target::of(host);
                match self.open(&to, permit) {
                    Ok(server) => self.pass(client, &server, &to, Vec::new(), Upward::All),
                    Err(closed) => self.note(Some(&to), closed.verdict, &closed.cause),
                }
            }
        }
    }

    fn proxy(&self, client: &TcpStream, permit: &Arc<Permit>) {
        let asked = self.head(client).and_then(|(head, rest)| Ok((request::read(&head)?, rest)));
        let (request, rest) = match asked {
            Ok(asked) => asked,
            Err(why) => {
                self.note(None, Verdict::Malformed, &why.to_owned().into());
                let words = format!("the request was not understood: it has {why}");
                return farewell(client, &answer(Status::Malformed, &words));
            }
        };
        let (to, head, mut upward) = match request {
            Request::Tunnel { to } => (to, None, Upward::All),
            Request::Plain { to, head, body } => (to, Some(head), Upward::Body(Meter::new(body))),
        };
        let server = match self.open(&to, permit) {
            Ok(server) => server,
            Err(closed) => {
                self.note(Some(&to), closed.verdict, &closed.cause);
                return farewell(client, &explained(&to, &closed));
            }
        };
        let first = match (&mut upward, head) {
            (Upward::Body(meter), head) => {
                let Ok(taken) = meter.take(&rest) else {
                    let why = "chunks that are none";
                    self.note(Some(&to), Verdict::Malformed, &why.to_owned().into());
                    let words = format!("the request was not understood: it has {why}");
                    return farewell(client, &answer(Status::Malformed, &words));
                };
                let mut first = head.unwrap_or_default();
                first.extend_from_slice(&rest[..taken]);
                first
            }
            (Upward::All, _) => {
                let granted = b"HTTP/1.1 200 Connection established\r\n\r\n";
                if !send(client, granted, self.outside.limits.head) {
                    let cause = "the program went away".to_owned().into();
                    return self.note(Some(&to), Verdict::Unreachable, &cause);
                }
                rest
            }
        };
        self.pass(client, &server, &to, first, upward);
    }

    /// Relays bytes and logs their number.
    fn pass(&self, client: &TcpStream, server: &TcpStream, to: &Target, first: Vec<u8>, upward: Upward) {
        let opening = Opening {
            host: &to.host.text(),
            port: to.port,
            address: server.peer_addr().ok().map(|address| address.ip()),
            verdict: Verdict::Granted,
            cause: None,
        };
        let number = self.log.connection(&opening);
        let passed = relay::relay(client, server, first, upward, self.outside.limits.idle);
        self.log.end(number, passed);
    }

    /// Logs a connection that was not granted.
    fn note(&self, to: Option<&Target>, verdict: Verdict, cause: &Cause) {
        let host = to.map(|to| to.host.text()).unwrap_or_default();
        let port = to.map_or(0, |to| to.port);
        self.log.connection(&Opening { host: &host, port, address: None, verdict, cause: Some(cause) });
    }

    /// Reads the request head. Returns it and the bytes after it.
    fn head(&self, mut client: &TcpStream) -> Result<(Vec<u8>, Vec<u8>), Malformed> {
        let until = Instant::now() + self.outside.limits.head;
        let mut bytes = Vec::new();
        let mut scan = Scan::default();
        let mut piece = [0; 4096];
        loop {
            if let Some(length) = scan.end(&bytes)? {
                let rest = bytes.split_off(length);
                return Ok((bytes, rest));
            }
            if bytes.len() >= HEAD {
                return Err("too long a head");
            }
            if !relay::ready(client, PollFlags::IN, until) {
                return Err("a head that did not come in time");
            }
            let room = piece.len().min(HEAD - bytes.len());
            match client.read(&mut piece[..room]) {
                Ok(0) => return Err("no end of its head"),
                Ok(length) => bytes.extend_from_slice(&piece[..length]),
                Err(error) if again(&error) => {}
                Err(_) => return Err("no end of its head"),
            }
        }
    }

    /// Connects to a listed host, at a checked address.
    fn open(&self, to: &Target, permit: &Arc<Permit>) -> Result<TcpStream, Closed> {
        let refused = |cause| Closed { verdict: Verdict::Refused, cause };
        let unreachable = |cause| Closed { verdict: Verdict::Unreachable, cause };
        let addresses = match self.hosts.grant(to).map_err(refused)? {
            Leads::To(addresses) => addresses,
            Leads::Unknown(name) => {
                let found = self.look_up(name, permit).map_err(unreachable)?;
                self.hosts.public(found, to.port).map_err(refused)?
            }
        };
        self.connect(&addresses, to.port).map_err(|words| unreachable(words.into()))
    }

    /// Resolves a name in a separate thread, because the system's resolver has no timeout. The thread holds the
    /// connection's permit, so there are never more lookups than connections.
    fn look_up(&self, name: String, permit: &Arc<Permit>) -> Result<Vec<IpAddr>, Cause> {
        let (sender, receiver) = mpsc::channel();
        let (resolve, permit) = (Arc::clone(&self.outside.resolve), Arc::clone(permit));
        let work = move || {
            // The receiver may have timed out.
            let _ = sender.send(resolve(&name));
            drop(permit);
        };
        let started = std::thread::Builder::new().stack_size(LOOKUP_STACK).spawn(work);
        started.map_err(|error| format!("its name cannot be looked up: {error}"))?;
        match receiver.recv_timeout(self.outside.limits.lookup) {
            Ok(Ok(found)) if found.is_empty() => Err("its name has no address".to_owned().into()),
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(unresolved(&error.to_string())),
            Err(_) => Err("its name was not found in time".to_owned().into()),
        }
    }

    /// Connects to the first address that answers. Divides the remaining time among the addresses.
    fn connect(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, String> {
        let until = Instant::now() + self.outside.limits.connect;
        let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX).min(MOST_ADDRESSES);
        let mut reason = "its name has no address".to_owned();
        for (left, address) in (1..=count).rev().zip(addresses) {
            let share = until.saturating_duration_since(Instant::now()) / left;
            // The system rejects a timeout of zero.
            let share = share.max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&SocketAddr::new(*address, port), share) {
                Ok(server) if server.set_nonblocking(true).is_ok() => {
                    let _ = server.set_nodelay(true);
                    return Ok(server);
                }
                Ok(_) => {}
                Err(error) => reason = format!("{address} does not answer: {error}"),
            }
        }
        Err(reason)
    }
}

/// Returns why a name could not be resolved, from the resolver's message.
fn unresolved(said: &str) -> Cause {
    let none = NO_SUCH_NAME.iter().any(|words| said.contains(words));
    let why = if none { Why::NoSuchName } else { Why::Other };
    Cause { why, words: format!("its name cannot be looked up: {said}") }
}

/// Returns the error response, with an explanation for the person who reads the program's output.
fn explained(to: &Target, closed: &Closed) -> Vec<u8> {
    let reason = &closed.cause.words;
    match closed.verdict {
        Verdict::Unreachable | Verdict::Granted | Verdict::Unlogged => {
            answer(Status::Unreachable, &format!("{to} cannot be reached: {reason}"))
        }
        Verdict::Malformed => answer(Status::Malformed, &format!("{to}: {reason}")),
        Verdict::Refused => {
            let text = to.to_string();
            // As the list writes it: without a default port.
            let entry = text.parse::<Host>().map_or(text, |host| host.to_string());
            let how = if let Why::NotPublic(_) = closed.cause.why {
                "a person who wants that lists the address itself in `hosts` of [network] in .acquit/acquit.toml"
                    .to_owned()
            } else {
                format!(
                    "a person can allow it: add \"{entry}\" to `hosts` of [network] in .acquit/acquit.toml"
                )
            };
            answer(Status::Refused, &format!("{to} is refused: {reason}; {how}"))
        }
    }
}

/// Sends all bytes, or returns false on timeout or error.
fn send(mut client: &TcpStream, mut bytes: &[u8], limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while !bytes.is_empty() {
        match client.write(bytes) {
            Ok(0) => return false,
            Ok(length) => bytes = &bytes[length..],
            Err(error) if again(&error) => {
                if !relay::ready(client, PollFlags::OUT, until) {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    true
}

/// Sends a last response and reads until the client closes. Closing earlier would discard the response.
fn farewell(mut client: &TcpStream, bytes: &[u8]) {
    let until = Instant::now() + FAREWELL;
    if !send(client, bytes, FAREWELL) || client.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut piece = [0; 4096];
    let mut drained = 0;
    while drained < DRAINED && relay::ready(client, PollFlags::IN, until) {
        match client.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => drained += length,
            Err(error) if again(&error) => {}
            Err(_) => return,
        }
    }
}

fn again(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_does_not_exist_is_no_outage() {
        let why = |words: &str| unresolved(&format!("failed to lookup address information: {words}")).why;
        assert_eq!(why("Name or service not known"), Why::NoSuchName);
        assert_eq!(why("Temporary failure in name resolution"), Why::Other);
    }
}
