//! Talks to a program over its stdin and stdout. Used by a client that runs inside the sandbox itself, so processes
//! that the program leaves behind end with the sandbox.
//!
//! Never waits on one pipe alone, so a program that does not read while we write, or the other way round, causes no
//! deadlock.
#![allow(clippy::disallowed_methods, reason = "this is the module that spawns")]

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::error::Error;
use super::watch::poll;

/// Size of the read buffer.
const READ: usize = 64 * 1024;

/// A program with pipes to its stdin and from its stdout. It inherits stderr.
pub struct Piped {
    child: Child,
    pidfd: OwnedFd,
    input: Option<ChildStdin>,
    output: ChildStdout,
    buffer: Vec<u8>,
}

/// Why [`Piped::step`] returned.
#[derive(Debug, PartialEq, Eq)]
pub enum Woken<'a> {
    /// The program printed this.
    Output(&'a [u8]),
    /// The program closed its stdout.
    Closed,
    /// This process was asked to stop.
    Stop,
    /// None of these happened.
    Nothing,
}

impl Piped {
    /// Starts the program with this process's environment.
    pub fn start(program: &OsStr, args: &[OsString]) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Use a separate process group: a signal to our group is meant for this process, which stops the program
        // cleanly.
        let mut child = command.process_group(0).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or(Errno::BADF)?;
        if let Some(input) = &input {
            fcntl_setfl(input, fcntl_getfl(input)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { child, pidfd, input, output, buffer: vec![0; READ] })
    }

    /// Writes as much of `outgoing` as the program accepts, then waits up to `limit` for an event.
    pub fn step(
        &mut self,
        outgoing: &mut Vec<u8>,
        stop: Option<BorrowedFd<'_>>,
        limit: Duration,
    ) -> Result<Woken<'_>, Error> {
        self.write(outgoing)?;
        let mut fds = vec![PollFd::new(&self.output, PollFlags::IN)];
        fds.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN)));
        if let Some(input) = self.input.as_ref().filter(|_| !outgoing.is_empty()) {
            fds.push(PollFd::new(input, PollFlags::OUT));
        }
        if poll(&mut fds, limit)? == 0 {
            return Ok(Woken::Nothing);
        }
        if stop.is_some() && !fds[1].revents().is_empty() {
            return Ok(Woken::Stop);
        }
        if fds[0].revents().is_empty() {
            return Ok(Woken::Nothing);
        }
        Ok(match self.output.read(&mut self.buffer)? {
            0 => Woken::Closed,
            count => Woken::Output(&self.buffer[..count]),
        })
    }

    fn write(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Error> {
        while let Some(input) = self.input.as_ref().filter(|_| !outgoing.is_empty()) {
            match rustix::io::write(input, outgoing) {
                Ok(count) => drop(outgoing.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                // The program closed its stdin. Keep reading its output.
                Err(Errno::PIPE) => self.input = None,
                Err(errno) => return Err(errno.into()),
            }
        }
        if self.input.is_none() {
            outgoing.clear();
        }
        Ok(())
    }

    /// Stops the program: closes its stdin, then sends SIGTERM, then SIGKILL, with `grace` in between. Returns the
    /// exit code, if any.
    pub fn end(mut self, grace: Duration) -> Result<Option<i32>, Error> {
        self.input = None;
        for signal in [Signal::TERM, Signal::KILL] {
            if self.is_gone_within(grace)? {
                break;
            }
            // Ignore errors: the process may have ended meanwhile.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
        Ok(self.child.wait().map(|status| status.code())?)
    }

    /// Waits for the end. Drains the output meanwhile, else the program could block on a full pipe.
    fn is_gone_within(&mut self, limit: Duration) -> Result<bool, Error> {
        let until = std::time::Instant::now() + limit;
        let mut open = true;
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            let mut fds = vec![PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
            if open {
                fds.push(PollFd::new(&self.output, PollFlags::IN));
            }
            let ready = poll(&mut fds, left)?;
            if !fds[0].revents().is_empty() {
                return Ok(true);
            }
            if ready == 0 && left.is_zero() {
                return Ok(false);
            }
            if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                open = self.output.read(&mut self.buffer)? > 0;
            }
        }
    }
}
