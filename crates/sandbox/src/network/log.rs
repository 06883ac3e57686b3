//! The proxy's log: one line of JSON for every connection, granted or refused, and another when it ends.
//!
//! Each line is one write to a file opened for appending, so a killed proxy leaves complete lines. The log has a
//! maximum size, so a program that connects in a loop cannot fill the disk.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::relay::Passed;

/// Maximum size of the log: about twenty thousand connections.
pub const LARGEST: u64 = 4 * 1024 * 1024;
/// Room for the line that says the log is full, and for one written at the same time.
const SLACK: u64 = 64 * 1024;
/// Maximum lines of a summary: readable for a person, and small enough for an event.
const MOST_LINES: usize = 50;

/// Reason of most refusals.
pub(super) const NOT_LISTED: &str = "it is not listed";

/// Start of the reason if a name resolves to an address that is not public; the address follows.
pub(super) const LEADS_TO: &str = "its name leads to ";

/// Result of a connection attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Not allowed.
    Refused,
    /// Connected.
    Granted,
    /// Allowed, but the host cannot be reached.
    Unreachable,
    /// The request was malformed.
    Malformed,
    /// Stands for all further connections: the log is full.
    Unlogged,
}

/// A connection attempt of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Time of the attempt.
    pub at: Timestamp,
    /// The host, as the program named it. Empty if the request was malformed.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address connected to.
    pub address: Option<IpAddr>,
    /// The result.
    pub verdict: Verdict,
    /// Why it was not granted.
    pub reason: Option<String>,
    /// When it ended, if it has and that was logged.
    pub ended: Option<Timestamp>,
    /// Bytes sent by the program.
    pub up: u64,
    /// Bytes received by the program.
    pub down: u64,
}

/// Causes of failure that the user can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The host is not in the list.
    NotListed,
    /// The name resolves to an address that is not public.
    NotPublic,
    /// The name does not exist.
    NoSuchName,
    /// Something else, or it did not fail.
    Other,
}

impl Why {
    /// Derives the cause from the reason in a log line. Only the proxy and the resolver write these texts.
    pub(super) fn of(verdict: Verdict, reason: &str) -> Self {
        const NO_SUCH_NAME: [&str; 2] = ["Name or service not known", "nodename nor servname provided"];
        match verdict {
            Verdict::Refused if reason.contains(NOT_LISTED) => Self::NotListed,
            Verdict::Refused if reason.contains(LEADS_TO) => Self::NotPublic,
            Verdict::Unreachable if NO_SUCH_NAME.iter().any(|words| reason.contains(words)) => {
                Self::NoSuchName
            }
            Verdict::Refused
            | Verdict::Unreachable
            | Verdict::Granted
            | Verdict::Malformed
            | Verdict::Unlogged => Self::Other,
        }
    }
}

impl Connection {
    /// Returns why the connection failed.
    pub fn why(&self) -> Why {
        Why::of(self.verdict, self.reason.as_deref().unwrap_or_default())
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Connection {
        number: u64,
        at: Timestamp,
        host: String,
        port: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        verdict: Verdict,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    End {
        number: u64,
        at: Timestamp,
        up: u64,
        down: u64,
    },
}

/// A log being written.
pub struct Log {
    now: fn() -> Timestamp,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// Bytes that may still be written; `None` once the log was marked as full.
    left: Option<u64>,
    next: u64,
}

/// What to log about a connection attempt.
pub struct Opening<'a> {
    /// The host; empty if unknown.
    pub host: &'a str,
    /// The port; 0 if unknown.
    pub port: u16,
    /// The address connected to.
    pub address: Option<IpAddr>,
    /// The result.
    pub verdict: Verdict,
    /// Why it was not granted.
    pub reason: Option<&'a str>,
}

impl Log {
    /// Continues a log file that is open for appending.
    pub fn new(file: File, now: fn() -> Timestamp) -> Self {
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        let left = Some(LARGEST.saturating_sub(size));
        Self { now, state: Mutex::new(State { file, left, next: 0 }) }
    }

    /// Logs a connection attempt. Returns its number.
    pub fn connection(&self, opening: &Opening) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        let line = Line::Connection {
            number,
            at: (self.now)(),
            host: opening.host.to_owned(),
            port: opening.port,
            address: opening.address,
            verdict: opening.verdict,
            reason: opening.reason.map(str::to_owned),
        };
        state.add(&line, (self.now)());
        number
    }

    /// Logs the end of a connection.
    pub fn end(&self, number: u64, passed: Passed) {
        let at = (self.now)();
        let line = Line::End { number, at, up: passed.up, down: passed.down };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).add(&line, at);
    }
}

impl State {
    fn add(&mut self, line: &Line, at: Timestamp) {
        let Some(left) = self.left else { return };
        let length = self.write(line, left);
        self.left = length.map(|length| left - length);
        if self.left.is_none() {
            let reason = Some("more was not logged".to_owned());
            let (host, verdict) = (String::new(), Verdict::Unlogged);
            let last =
                Line::Connection { number: self.next, at, host, port: 0, address: None, verdict, reason };
            self.write(&last, SLACK);
        }
    }

    /// Writes a line if there is room, and returns its length. Ignores errors: a log failure must not end
    /// connections.
    fn write(&mut self, line: &Line, room: u64) -> Option<u64> {
        let mut text = serde_json::to_vec(line).ok()?;
        text.push(b'\n');
        let length = text.len() as u64;
        (length <= room && self.file.write_all(&text).is_ok()).then_some(length)
    }
}

/// Reads a log. Skips incomplete and unknown lines; returns nothing for a file that is not a log.
pub fn read_log(path: &Path) -> Vec<Connection> {
    let text = crate::untrusted::text(path, LARGEST + SLACK).ok().flatten().unwrap_or_default();
    let mut all: Vec<Connection> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Connection { number, at, host, port, address, verdict, reason }) => {
                open.insert(number, all.len());
                let (host, reason) = (shown(&host), reason.as_deref().map(shown));
                all.push(Connection {
                    at,
                    host,
                    port,
                    address,
                    verdict,
                    reason,
                    ended: None,
                    up: 0,
                    down: 0,
                });
            }
            Ok(Line::End { number, at, up, down }) => {
                if let Some(connection) = open.remove(&number).and_then(|index| all.get_mut(index)) {
                    (connection.ended, connection.up, connection.down) = (Some(at), up, down);
                }
            }
            Err(_) => {}
        }
    }
    all
}

/// Replaces unprintable characters. The proxy writes none, but another process may have changed the file.
fn shown(text: &str) -> String {
    text.chars()
        .take(300)
        .map(|char| if char.is_ascii_graphic() || char == ' ' { char } else { '?' })
        .collect()
}

/// Returns the host to add to the configuration, if a [`summary`] line shows a refusal that this would fix.
pub fn refused_host(line: &str) -> Option<String> {
    let (place, rest) = line.split_once(" refused ")?;
    let (name, port) = place.rsplit_once(':')?;
    let name = match rest.split_once(LEADS_TO) {
        // The name is listed, but its address in the user's own network is not.
        Some((_, address)) => match address.split(',').next()? {
            address if address.contains(':') => format!("[{address}]"),
            address => address.to_owned(),
        },
        None if rest.ends_with(NOT_LISTED) => name.to_owned(),
        None => return None,
    };
    let host = format!("{name}:{port}").parse::<acquit_core::sandbox::Host>().ok()?;
    Some(host.to_string())
}

/// Returns a line for each host, port and verdict, with the number of connections. Refusals come first.
pub fn summary(connections: &[Connection]) -> Vec<String> {
    #[derive(Default)]
    struct Sum<'a> {
        times: u64,
        passed: Passed,
        reason: Option<&'a str>,
    }
    let mut sums: BTreeMap<(Verdict, &str, u16), Sum> = BTreeMap::new();
    for one in connections {
        let sum = sums.entry((one.verdict, one.host.as_str(), one.port)).or_default();
        sum.times += 1;
        sum.passed.up = sum.passed.up.saturating_add(one.up);
        sum.passed.down = sum.passed.down.saturating_add(one.down);
        sum.reason = sum.reason.or(one.reason.as_deref());
    }
    let mut lines = Vec::new();
    for ((verdict, host, port), sum) in &sums {
        let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let times = if sum.times == 1 { "once".to_owned() } else { format!("{} times", sum.times) };
        let why = sum.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(match verdict {
            Verdict::Granted => {
                format!("{place} reached {times}, {} bytes up, {} down", sum.passed.up, sum.passed.down)
            }
            Verdict::Refused if host.is_empty() => format!("refused {times}{why}"),
            Verdict::Refused => format!("{place} refused {times}{why}"),
            Verdict::Unreachable => format!("{place} not reachable, tried {times}{why}"),
            Verdict::Malformed => format!("not understood {times}{why}"),
            Verdict::Unlogged => "more connections were not logged: the log is full".to_owned(),
        });
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - (MOST_LINES - 1);
        lines.truncate(MOST_LINES - 1);
        lines.push(format!("and {more} others"));
    }
    lines
}
