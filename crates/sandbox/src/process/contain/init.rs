//! Pid 1 of the namespace. When it exits, the kernel kills every other process in the namespace.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use acquit_core::sandbox::Mode;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, set_parent_process_death_signal, wait};

use super::super::status::{self, Failure, Step};
use super::super::walls::{Missing, Wall};
use super::commands::Guard;
use super::landlock::Around;
use super::network::Door;
use super::output_writer::Streams;
use super::plan::Plan;
use super::program::Side;
use super::sys::{self, Forked, Namespaces};
use super::usage::{self, Enforcer, Usage, Written};
use super::{NOT_STARTED, network, program, view};
use crate::sandbox::{Policy, Reach};

/// Delay before the first check of memory and disk usage.
const FIRST_LOOK: Duration = Duration::from_millis(50);

/// Waits for `go`, starts the program, and writes its exit status to `report`.
pub(super) fn main(plan: &Plan, policy: Option<&Policy>, side: Inside) -> ! {
    let Inside { pipe, go, report, door, streams } = side;
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        sys::exit(NOT_STARTED);
    }
    let Some(enforcer) = told_to_go(&go) else { sys::exit(NOT_STARTED) };
    if let Some(Err(errno)) = streams.map(Streams::take) {
        if let Some(pipe) = pipe {
            status::report_failure(pipe, Failure::new(Step::Files, errno));
        }
        sys::exit(NOT_STARTED)
    }
    let usage = match policy {
        None => {
            own_proc();
            None
        }
        Some(policy) => match prepare(policy, door) {
            Ok((mut missing, written)) => {
                if enforcer == Enforcer::Kernel {
                    // The cgroup limits processes, even if the namespace cannot.
                    missing.remove(Wall::Processes);
                }
                if let Some(pipe) = &pipe {
                    status::report_missing(pipe, missing);
                    if policy.mode == Mode::On && missing.breaks_a_promise() {
                        status::report_failure(pipe, Failure::new(Step::Promise, Errno::OPNOTSUPP));
                        sys::exit(NOT_STARTED);
                    }
                }
                Some(Usage::begin(policy, written, enforcer))
            }
            Err((failure, about)) => {
                if let Some(pipe) = pipe {
                    status::report_detailed(pipe, failure, &about);
                }
                sys::exit(NOT_STARTED)
            }
        },
    };
    let commands = policy.and_then(|policy| policy.commands.as_ref());
    // Without a door, the program's process reports a missing wall.
    let (inside, outside) = match commands.and_then(|_| Door::new().ok()) {
        Some(door) => (Some(door.inside), Some(door.outside)),
        None => (None, None),
    };
    match sys::clone(Namespaces::Inherited) {
        Ok(Forked::Child) => {
            drop(outside);
            program::run(plan, policy, Around::View, Side { pipe, door: inside })
        }
        Ok(Forked::Parent(program)) => {
            drop((pipe, inside));
            let guard = commands.zip(outside).and_then(|(commands, outside)| {
                let listener = network::receive(&outside).ok()?.into_iter().next()?;
                Some(Guard::new(listener, commands, &plan.cwd, sys::environment_path().as_deref()))
            });
            supervise(program, &report, usage, guard)
        }
        Err(errno) => {
            if let Some(pipe) = pipe {
                status::report_failure(pipe, Failure::new(Step::Clone, errno));
            }
            sys::exit(NOT_STARTED)
        }
    }
}

/// The helper sends this once it has mapped the users.
pub(super) const GO: &[u8; 1] = b"g";
/// The helper sends this instead if a cgroup limits memory.
pub(super) const GO_IN_CGROUP: &[u8; 1] = b"c";

/// Waits until the helper has mapped the users, and returns what enforces the memory limit. `None` if the helper
/// died. The death signal was requested before: it reports a later death of the helper, and an earlier one shows
/// here, as a closed pipe.
fn told_to_go(go: &OwnedFd) -> Option<Enforcer> {
    let mut word = [0; 1];
    if rustix::io::read(go, &mut word) != Ok(1) {
        return None;
    }
    let mut fds = [PollFd::from_borrowed_fd(go.as_fd(), PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let lives = rustix::event::poll(&mut fds, Some(&now)) == Ok(0);
    lives.then_some(if word == *GO_IN_CGROUP { Enforcer::Kernel } else { Enforcer::Watching })
}

/// Connections of init to the outside.
pub(super) struct Inside {
    /// Reports a failure to start.
    pub(super) pipe: Option<OwnedFd>,
    /// Tells when users are mapped; closed when the helper dies.
    pub(super) go: OwnedFd,
    /// Receives the program's exit status.
    pub(super) report: OwnedFd,
    /// Receives the listening sockets for the proxy.
    pub(super) door: Option<OwnedFd>,
    /// Receives the program's output.
    pub(super) streams: Option<Streams>,
}

/// Builds the walls around everything in the namespaces.
fn prepare(policy: &Policy, door: Option<OwnedFd>) -> Result<(Missing, Written), (Failure, String)> {
    // The program has the same user: without this it could open this process's descriptors.
    sys::hide();
    if policy.network != Reach::Everybody {
        network::open(&policy.network, door)
            .map_err(|errno| (Failure::new(Step::Network, errno), String::new()))?;
    }
    let written = Written::hold(policy);
    let missing = view::enter(policy, policy.resources.processes)
        .map_err(|trouble| (Failure::new(Step::View, trouble.errno), trouble.place))?;
    Ok((missing, written))
}

/// Mounts a `/proc` for a program without a policy.
///
/// This does not change the mounts outside: in the mount namespace of another user namespace, they only receive mount
/// events.
fn own_proc() {
    // Without a separate /proc, the program would see pids that mean nothing here. A container that hides parts of
    // its /proc forbids the mount; the process tree is contained anyway.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
}

fn supervise(program: Pid, report: &OwnedFd, mut usage: Option<Usage>, mut guard: Option<Guard>) -> ! {
    const SIGNALS: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::CHILD];
    let mut due = Instant::now() + FIRST_LOOK;
    let pending = guard.as_ref().and_then(|_| sys::signals(&SIGNALS).ok());
    if pending.is_none() {
        // An unanswered request would block the program forever. Without a guard, all executions fail.
        guard = None;
    }
    loop {
        // Use a deadline, not an idle timeout: a steady stream of dying orphans would postpone every check.
        if let Some(usage) = usage.as_mut().filter(|_| Instant::now() >= due) {
            match usage.look() {
                Ok(pause) => due = Instant::now() + pause,
                Err(excess) => {
                    let words = serde_json::to_vec(&excess).unwrap_or_default();
                    let _ = rustix::io::write(report, &words);
                    sys::exit(0)
                }
            }
        }
        if let (Some(guard), Some(pending)) = (&mut guard, &pending) {
            guard.until(pending.as_fd(), usage.as_ref().map(|_| due));
        }
        let signal = match &usage {
            None => Some(sys::wait_signal(&SIGNALS)),
            Some(_) => sys::wait_signal_for(&SIGNALS, due.saturating_duration_since(Instant::now())),
        };
        match signal {
            None => {}
            Some(Signal::CHILD) => {
                // One signal can stand for several children: all orphans of the namespace are reparented to init.
                while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                    if pid == program {
                        let mut words = [0; 8];
                        words[..4].copy_from_slice(&status.as_raw().to_ne_bytes());
                        words[4..].copy_from_slice(&usage::others().to_ne_bytes());
                        let _ = rustix::io::write(report, &words);
                        sys::exit(0)
                    }
                }
            }
            Some(order) => {
                let _ = kill_process_group(program, order);
            }
        }
    }
}
