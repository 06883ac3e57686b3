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
    /// Why it was not granted, for people.
    pub reason: Option<String>,
    /// Why it was not granted, if the user can act on it.
    pub why: Why,
    /// When it ended, if it has and that was logged.
    pub ended: Option<Timestamp>,
    /// Bytes sent by the program.
    pub up: u64,
    /// Bytes received by the program.
    pub down: u64,
}

/// Causes of failure that the user can act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The host is not in the list.
    NotListed,
    /// The name resolves to this address, which is not public.
    NotPublic(IpAddr),
    /// The name does not exist.
    NoSuchName,
    /// Something else, or it did not fail.
    #[default]
    Other,
}

impl Why {
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// Why a connection was not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// For programs.
    pub why: Why,
    /// For people.
    pub words: String,
}

impl From<String> for Cause {
    fn from(words: String) -> Self {
        Self { why: Why::Other, words }
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
        #[serde(default, skip_serializing_if = "Why::is_other")]
        why: Why,
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

/// The log entry of a connection attempt.
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
    pub cause: Option<&'a Cause>,
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
            reason: opening.cause.map(|cause| cause.words.clone()),
            why: opening.cause.map(|cause| cause.why).unwrap_or_default(),
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
            let last = Line::Connection {
                number: self.next,
                at,
                host: String::new(),
                port: 0,
                address: None,
                verdict: Verdict::Unlogged,
                reason,
                why: Why::Other,
            };
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
            Ok(Line::Connection { number, at, host, port, address, verdict, reason, why }) => {
                open.insert(number, all.len());
                let (host, reason) = (shown(&host), reason.as_deref().map(shown));
                all.push(Connection {
                    at,
                    host,
                    port,
                    address,
                    verdict,
                    reason,
                    why,
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

/// The connections of a program to one host and port with the same result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// A line for people.
    pub text: String,
    /// The entry of the allowlist that would allow them, if there is one.
    pub to_allow: Option<String>,
}

impl From<String> for Summary {
    fn from(text: String) -> Self {
        Self { text, to_allow: None }
    }
}

/// Returns the entry of the allowlist that would have allowed a connection, if one would.
fn to_allow(why: Why, host: &str, port: u16) -> Option<String> {
    let name = match why {
        Why::NotListed => bracketed(host),
        // The name is listed, but its address in the user's own network is not.
        Why::NotPublic(address) => bracketed(&address.to_string()),
        Why::NoSuchName | Why::Other => return None,
    };
    format!("{name}:{port}").parse::<acquit_core::sandbox::Host>().ok().map(|host| host.to_string())
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Returns a line for each host, port and verdict, with the number of connections. Refusals come first.
pub fn summary(connections: &[Connection]) -> Vec<Summary> {
    #[derive(Default)]
    struct Sum<'a> {
        times: u64,
        passed: Passed,
        reason: Option<&'a str>,
        why: Why,
    }
    let mut sums: BTreeMap<(Verdict, &str, u16), Sum> = BTreeMap::new();
    for one in connections {
        let sum = sums.entry((one.verdict, one.host.as_str(), one.port)).or_default();
        sum.times += 1;
        sum.passed.up = sum.passed.up.saturating_add(one.up);
        sum.passed.down = sum.passed.down.saturating_add(one.down);
        if sum.reason.is_none() {
            (sum.reason, sum.why) = (one.reason.as_deref(), one.why);
        }
    }
    let mut lines: Vec<Summary> = Vec::new();
    for ((verdict, host, port), sum) in &sums {
        let place = format!("{}:{port}", bracketed(host));
        let times = if sum.times == 1 { "once".to_owned() } else { format!("{} times", sum.times) };
        let why = sum.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let text = match verdict {
            Verdict::Granted => {
                format!("{place} reached {times}, {} bytes up, {} down", sum.passed.up, sum.passed.down)
            }
            Verdict::Refused if host.is_empty() => format!("refused {times}{why}"),
            Verdict::Refused => format!("{place} refused {times}{why}"),
            Verdict::Unreachable => format!("{place} not reachable, tried {times}{why}"),
            Verdict::Malformed => format!("not understood {times}{why}"),
            Verdict::Unlogged => "more connections were not logged: the log is full".to_owned(),
        };
        lines.push(Summary { text, to_allow: to_allow(sum.why, host, *port) });
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - (MOST_LINES - 1);
        lines.truncate(MOST_LINES - 1);
        lines.push(format!("and {more} others").into());
    }
    lines
}
