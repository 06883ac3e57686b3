//! Handle of a process and its descendants, to wait for, stop and reap them.

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

/// Time for the kernel to empty a namespace, or for the helper to kill orphans, before the helper itself is killed.
pub(super) const FORCE_LIMIT: Duration = Duration::from_secs(3);

/// How long a killed process may hang in the kernel before the wait ends.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(5);

/// A process tree. Dropping it before it is reaped kills it.
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
    /// Takes ownership of a child process.
    pub(super) fn adopt(pid: Pid, guard: Guard) -> Result<Self, Error> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd, guard, state: State::Owned }),
            Err(errno) => {
                // Never leave a process running that we cannot watch. This one has only just started.
                let _ = kill_process(pid, Signal::KILL);
                let _ = sys::reap(pid);
                Err(errno.into())
            }
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Returns a descriptor that becomes readable when the process has ended.
    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// First step: asks the program to exit.
    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Second step: kills the whole tree.
    pub(super) fn force(&self) {
        match self.guard {
            Guard::Contained => self.signal(Signal::QUIT),
            // The group ID cannot have been reused: the process is not reaped yet.
            Guard::Trusted => drop(kill_process_group(self.pid, Signal::KILL)),
        }
    }

    /// Last step: kills the helper itself, and the namespace with it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // This fails only if the process has already ended.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Waits up to `limit` for the process to end. Returns whether it has.
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

    /// Collects the exit status of a process that has ended.
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
