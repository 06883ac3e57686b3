//! The client as a process between harness and agent: reads the prompt, talks to the agent, and prints its events.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acquit_core::agent::{AgentEvent, Fault};
use acquit_core::time::Timestamp;

use super::Settings;
use super::conversation::{Out, Over, State, Talk};
use crate::event_lines::say;
use crate::process::{Piped, Woken};
use crate::rpc::{Lines, Piece};

/// Maximum size of a prompt: far more than acquit ever creates.
const PROMPT_LIMIT: u64 = 16 * 1024 * 1024;
/// Timeout until an agent accepts its prompt. Some need half a minute on a busy machine.
const START_LIMIT: Duration = Duration::from_mins(3);
/// Timeout of a turn. The harness enforces the limits that people set; this only ensures that no wait is unlimited.
const TURN_LIMIT: Duration = Duration::from_hours(7 * 24);
/// Time for an agent to finish after a cancel request: less than the harness gives this process.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
/// Time for an agent to exit after its turn. Some wait for more prompts until they are told to exit.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// Maximum size of unread messages to the agent. An agent that keeps asking without reading answers is ended.
const OUTGOING_LIMIT: usize = 64 * 1024 * 1024;

/// An agent and its surroundings.
pub struct Client {
    /// Settings of the client.
    pub settings: Settings,
    /// The agent and its arguments.
    pub command: Vec<OsString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Directory for output files.
    pub output_dir: PathBuf,
    /// Becomes readable when this process is asked to stop.
    pub stop: OwnedFd,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl Client {
    /// Talks to the agent until its turn ends. Returns the exit code.
    pub fn run(self, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<i32> {
        let Self { settings, command, cwd, output_dir, stop, now } = self;
        let mut prompt = String::new();
        input.take(PROMPT_LIMIT).read_to_string(&mut prompt)?;
        let talk = Talk::new(settings, prompt, cwd.to_string_lossy().into_owned(), output_dir, now);
        let Some((program, args)) = command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no agent is named"));
        };
        match Piped::start(program, args) {
            Ok(agent) => Line { talk, agent, outgoing: Vec::new(), out }.run(stop.as_fd()),
            Err(error) => {
                let name = program.to_string_lossy();
                let text =
                    format!("{name} did not start: {error}; install it where PATH leads, or change `run`");
                say(out, &[AgentEvent::End { ok: false, text }])?;
                Ok(1)
            }
        }
    }
}

/// The connection between the conversation and the process.
struct Line<'a> {
    talk: Talk,
    agent: Piped,
    outgoing: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Line<'_> {
    fn run(mut self, stop: BorrowedFd<'_>) -> io::Result<i32> {
        let mut lines = Lines::default();
        let mut stop = Some(stop);
        let mut until = Instant::now() + START_LIMIT;
        let mut out = Out::default();
        self.talk.begin(&mut out);
        loop {
            let before = self.talk.state();
            let mut pass = Out::default();
            std::mem::swap(&mut pass, &mut out);
            self.pass(pass)?;
            if let State::Over(over) = before {
                let _ = self.agent.end(EXIT_GRACE);
                return Ok(i32::from(over == Over::Badly));
            }
            if self.outgoing.len() > OUTGOING_LIMIT {
                self.talk.give_up(Fault::Other, "the agent does not read what it is told", &mut out);
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let talk = &mut self.talk;
            let mut each = |piece: Piece<'_>| match piece {
                Piece::Line(line) => talk.line(line, &mut out),
                Piece::TooLong => {
                    out.said.push(AgentEvent::Unknown { kind: "a message without end".to_owned() });
                }
            };
            match self.agent.step(&mut self.outgoing, stop, left).map_err(io::Error::other)? {
                Woken::Output(bytes) => lines.push(bytes, &mut each),
                Woken::Closed => {
                    lines.finish(&mut each);
                    self.talk.give_up(Fault::Other, "the agent was gone before its turn was over", &mut out);
                }
                Woken::Stop => {
                    stop = None;
                    until = Instant::now() + CANCEL_LIMIT;
                    if !self.talk.cancel(&mut out) {
                        self.talk.give_up(Fault::Other, "cancelled before it began", &mut out);
                    }
                }
                Woken::Nothing if left.is_zero() => {
                    let words = if stop.is_none() {
                        "the agent did not stop in time".to_owned()
                    } else {
                        format!("the agent gave no answer in {START_LIMIT:?}")
                    };
                    self.talk.give_up(Fault::Other, &words, &mut out);
                }
                Woken::Nothing => {}
            }
            if before != State::Prompting && self.talk.state() == State::Prompting && stop.is_some() {
                until = Instant::now() + TURN_LIMIT;
            }
        }
    }

    /// Sends messages to the agent and prints events.
    fn pass(&mut self, out: Out) -> io::Result<()> {
        for message in &out.messages {
            serde_json::to_writer(&mut self.outgoing, message)?;
            self.outgoing.push(b'\n');
        }
        say(self.out, &out.said)
    }
}
