//! A started process with everything below it: the one handle by which it is waited for, stopped and reaped.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::capture::Guard;
use super::contain::sys::{self, Reaped};
use super::error::Error;

/// How long the kernel has for emptying a namespace, or the helper for its hunt, before the helper itself is killed.
pub(super) const FORCE_LIMIT: Duration = Duration::from_secs(3);

/// How long a killed process may hang in the kernel before it is given up.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Dropped before it is reaped, it is killed.
#[derive(Debug)]
pub(super) struct Tree {
    pid: Pid,
    pidfd: OwnedFd,
    guard: Guard,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Owned,
    Reaped,
}

impl Tree {
    /// Takes charge of a child of this process.
    pub(super) fn adopt(pid: Pid, guard: Guard) -> Result<Self, Error> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd, guard, state: State::Owned }),
            Err(errno) => {
                // Nothing that cannot be watched may run. It has only just begun.
                let _ = kill_process(pid, Signal::KILL);
                let _ = sys::reap(pid);
                Err(errno.into())
            }
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Readable once the process has ended.
    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// First rung: asks the program to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Second rung: ends everything, without asking.
    pub(super) fn force(&self) {
        match self.guard {
            Guard::Contained => self.signal(Signal::QUIT),
            // The number cannot mean another group: it is not reaped yet.
            Guard::Trusted => drop(kill_process_group(self.pid, Signal::KILL)),
        }
    }

    /// Last rung: ends the helper itself, with which the namespace goes.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // The only refusal is that it has ended, which is what a signal is for.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Whether the process has ended, now or within `limit`.
    fn ends_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else { return false };
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            match rustix::event::poll(&mut fds, Some(&timeout)) {
                Ok(ready) => return ready > 0,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Takes the result of a process that has ended.
    pub(super) fn reap(mut self) -> Result<Reaped, Error> {
        self.state = State::Reaped;
        Ok(sys::reap(self.pid)?)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.state == State::Reaped {
            return;
        }
        self.force();
        if !self.ends_within(FORCE_LIMIT) {
            self.kill();
            if !self.ends_within(KILL_LIMIT) {
                return;
            }
        }
        let _ = sys::reap(self.pid);
    }
}
