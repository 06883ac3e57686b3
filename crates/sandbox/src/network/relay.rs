//! Relays bytes in both directions between a client and a server, in one thread, with bounded buffers and an idle
//! timeout.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::body::Meter;

/// Buffer size per direction: as much as a socket returns at once.
const BUFFER: usize = 64 * 1024;

/// Bytes relayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes from client to server.
    pub up: u64,
    /// Bytes from server to client.
    pub down: u64,
}

/// Which of the client's bytes to send to the server.
pub enum Upward {
    /// All, until the client closes its side.
    All,
    /// The body of one request. The response ends it.
    Body(Meter),
}

/// Waits for `events` on a stream. Returns false on timeout.
pub fn ready(stream: &TcpStream, events: PollFlags, until: Instant) -> bool {
    wait(&mut [PollFd::new(stream, events)], until)
}

/// Waits for any of the events. Returns false on timeout.
pub fn wait(asked: &mut [PollFd], until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return false };
        match poll(asked, Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// One direction.
struct Way {
    buffer: Vec<u8>,
    /// The range of the buffer that was read but not written yet.
    start: usize,
    end: usize,
    /// Whether more can come.
    open: bool,
    passed: u64,
}

/// Result of a read or write.
#[derive(PartialEq, Eq)]
enum Step {
    Moved,
    Stuck,
    Gone,
}

impl Way {
    fn new(first: Vec<u8>) -> Self {
        let end = first.len();
        let mut buffer = first;
        buffer.resize(BUFFER.max(end), 0);
        Self { buffer, start: 0, end, open: true, passed: 0 }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn read(&mut self, mut from: &TcpStream) -> Step {
        match from.read(&mut self.buffer) {
            Ok(0) => Step::Gone,
            Ok(length) => {
                (self.start, self.end) = (0, length);
                Step::Moved
            }
            Err(error) => step(&error),
        }
    }

    fn write(&mut self, mut to: &TcpStream) -> Step {
        match to.write(&self.buffer[self.start..self.end]) {
            Ok(0) => Step::Gone,
            Ok(length) => {
                self.start += length;
                self.passed += length as u64;
                Step::Moved
            }
            Err(error) => step(&error),
        }
    }
}

fn step(error: &io::Error) -> Step {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Step::Stuck,
        _ => Step::Gone,
    }
}

/// Relays bytes until both sides have closed, or nothing has moved for `idle`. Both streams must be non-blocking.
/// Sends `first` to the server before anything it reads.
pub fn relay(
    client: &TcpStream,
    server: &TcpStream,
    first: Vec<u8>,
    mut upward: Upward,
    idle: Duration,
) -> Passed {
    let (mut up, mut down) = (Way::new(first), Way::new(Vec::new()));
    if let Upward::Body(meter) = &upward {
        up.open = !meter.is_over();
    }
    let mut until = Instant::now() + idle;
    loop {
        let answered = !down.open && down.is_empty();
        match upward {
            Upward::Body(_) if answered => break,
            Upward::All if answered && !up.open && up.is_empty() => break,
            Upward::Body(_) | Upward::All => {}
        }
        let of_client = events(&up, &down);
        let of_server = events(&down, &up);
        // Poll only streams with requested events: one that has hung up would be reported again and again.
        let mut asked = Vec::with_capacity(2);
        for (stream, events) in [(client, of_client), (server, of_server)] {
            if !events.is_empty() {
                asked.push(PollFd::new(stream, events));
            }
        }
        if asked.is_empty() || !wait(&mut asked, until) {
            break;
        }
        let mut moved = false;
        if up.open && up.is_empty() {
            let step = up.read(client);
            moved |= step == Step::Moved;
            match &mut upward {
                Upward::All if step == Step::Gone => {
                    up.open = false;
                    let _ = server.shutdown(Shutdown::Write);
                }
                Upward::Body(_) if step == Step::Gone => up.open = false,
                Upward::Body(meter) if step == Step::Moved => {
                    let Ok(taken) = meter.take(&up.buffer[..up.end]) else { break };
                    up.end = taken;
                    up.open = !meter.is_over();
                }
                Upward::All | Upward::Body(_) => {}
            }
        }
        if !up.is_empty() {
            let step = up.write(server);
            moved |= step == Step::Moved;
            if step == Step::Gone {
                // The server closed its read side, but may still send.
                up.open = false;
                up.end = up.start;
            }
        }
        if down.open && down.is_empty() {
            let step = down.read(server);
            moved |= step == Step::Moved;
            if step == Step::Gone {
                down.open = false;
                let _ = client.shutdown(Shutdown::Write);
            }
        }
        if !down.is_empty() {
            match down.write(client) {
                Step::Moved => moved = true,
                Step::Stuck => {}
                Step::Gone => break,
            }
        }
        if moved {
            until = Instant::now() + idle;
        }
    }
    Passed { up: up.passed, down: down.passed }
}

/// Returns the events to wait for on a stream: input for the direction it feeds, room for the direction it receives.
fn events(from: &Way, to: &Way) -> PollFlags {
    let mut events = PollFlags::empty();
    events.set(PollFlags::IN, from.open && from.is_empty());
    events.set(PollFlags::OUT, !to.is_empty());
    events
}
