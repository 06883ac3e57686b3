//! Pid 1 of the namespace. While it lives the program may; when it ends the kernel kills whatever is left.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use acquit_core::sandbox::Mode;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, set_parent_process_death_signal, wait};

use super::super::status::{self, Failure, Step};
use super::super::walls::{Missing, Wall};
use super::landlock::Around;
use super::output_writer::Streams;
use super::plan::Plan;
use super::sys::{self, Forked, Namespaces};
use super::usage::{self, Enforcer, Usage, Written};
use super::{NOT_STARTED, network, program, view};
use crate::sandbox::{Policy, Reach};

/// When the use of memory and disk is first looked at.
const FIRST_LOOK: Duration = Duration::from_millis(50);

/// Waits for `go`, starts the program, and writes how it ended to `report`.
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
                    // The cgroup limits processes, whatever the namespace can.
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
    match sys::clone(Namespaces::Inherited) {
        Ok(Forked::Child) => program::run(plan, policy, Around::View, pipe),
        Ok(Forked::Parent(program)) => {
            drop(pipe);
            supervise(program, &report, usage)
        }
        Err(errno) => {
            if let Some(pipe) = pipe {
                status::report_failure(pipe, Failure::new(Step::Clone, errno));
            }
            sys::exit(NOT_STARTED)
        }
    }
}

/// What the helper says once it has mapped the users.
pub(super) const GO: &[u8; 1] = b"g";
/// The same, if a cgroup limits memory.
pub(super) const GO_IN_CGROUP: &[u8; 1] = b"c";

/// Who enforces the limit on memory, if the helper has mapped the users and still lives. The death signal was asked for before this
/// look, so a helper that dies later is noticed by the signal, and one that died earlier here, by its end of the pipe.
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

/// What the first process has of the outside.
pub(super) struct Inside {
    /// Where a failure to start is told.
    pub(super) pipe: Option<OwnedFd>,
    /// Says when users are mapped, and is closed when the helper dies.
    pub(super) go: OwnedFd,
    /// Takes how the program ended.
    pub(super) report: OwnedFd,
    /// Takes the sockets of the proxy.
    pub(super) door: Option<OwnedFd>,
    /// Takes what the program says.
    pub(super) streams: Option<Streams>,
}

/// Builds the walls around everything that will be in the namespaces.
fn prepare(policy: &Policy, door: Option<OwnedFd>) -> Result<(Missing, Written), (Failure, String)> {
    // The program is of the same user: without this it could open the descriptors of this process.
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

/// The surroundings of a program that is only held together.
///
/// The mounts of the outside do not change: in a mount namespace of another user namespace the kernel makes them
/// receivers only.
fn own_proc() {
    // Without its own /proc the program would see numbers that mean nothing here. A container that hides parts of its
    // /proc forbids the mount; the program's tree is held together all the same.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
}

fn supervise(program: Pid, report: &OwnedFd, mut usage: Option<Usage>) -> ! {
    const SIGNALS: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::CHILD];
    let mut due = Instant::now() + FIRST_LOOK;
    loop {
        // By the clock and not by the silence: orphans that end all the time would put every look off.
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
        let signal = match &usage {
            None => Some(sys::wait_signal(&SIGNALS)),
            Some(_) => sys::wait_signal_for(&SIGNALS, due.saturating_duration_since(Instant::now())),
        };
        match signal {
            None => {}
            Some(Signal::CHILD) => {
                // One signal can stand for many; orphans of the whole namespace end here.
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
