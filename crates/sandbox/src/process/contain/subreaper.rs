//! Fallback without namespaces: orphans become children of the helper, which kills every process it finds below
//! itself.
//!
//! Best effort. Between two scans of `/proc` a process can fork and exit, and one that does so forever is never
//! caught, so the search has a time limit.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait,
};

use super::super::exit::{Containment, Refusal};
use super::super::procfs::Stat;
use super::super::status::{self, Failure, Step};
use super::super::walls::{Missing, Wall};
use super::landlock::Around;
use super::plan::Plan;
use super::program::Side;
use super::sys::{self, Forked, Namespaces};
use super::{HELD, die_with_parent, program};
use crate::sandbox::Policy;

/// Time limit of the search for leftover processes: ordinary trees are gone after two scans, others never.
const HUNT: Duration = Duration::from_secs(2);

/// Pause between two scans, shortened when a process dies.
const LOOK: Duration = Duration::from_millis(2);

/// Runs the program. Returns only if it was not started.
pub(super) fn run(plan: &Plan, policy: Option<&Policy>, pipe: &mut Option<OwnedFd>, why: Refusal) -> Failure {
    // A killed helper could not clean up. So request SIGQUIT, not SIGKILL, for the death of the harness.
    if let Err(failure) = die_with_parent(plan, Signal::QUIT) {
        return failure;
    }
    let own = getpid();
    if let Err(errno) = set_child_subreaper(Some(own)) {
        return Failure::new(Step::Clone, errno);
    }
    if let Some(pipe) = &pipe {
        status::report_containment(pipe, Containment::Subreaper { why });
        if policy.is_some() {
            status::report_missing(pipe, without_namespaces());
        }
    }
    match sys::clone(Namespaces::Inherited) {
        Ok(Forked::Child) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            if getppid() != Some(own) {
                sys::exit(super::NOT_STARTED);
            }
            program::run(plan, policy, Around::Machine, Side { pipe: pipe.take(), door: None })
        }
        Ok(Forked::Parent(program)) => {
            drop(pipe.take());
            supervise(program)
        }
        Err(errno) => Failure::new(Step::Clone, errno),
    }
}

/// Returns the walls that do not exist without namespaces.
fn without_namespaces() -> Missing {
    let mut missing = Missing::default();
    for wall in [Wall::Namespaces, Wall::Network, Wall::Proc, Wall::Processes, Wall::Overlay] {
        missing.add(wall);
    }
    missing
}

fn supervise(program: Pid) -> ! {
    loop {
        match sys::wait_signal(&HELD) {
            Signal::CHILD => {
                let reaped = reap(program);
                if let Some(status) = reaped.status {
                    // Orphans become children of this process: without children, nothing is left to kill.
                    if reaped.left {
                        hunt(program);
                    }
                    sys::end_as(status)
                }
            }
            Signal::QUIT => {
                let status = hunt(program);
                match status {
                    Some(status) => sys::end_as(status),
                    None => sys::end_by(Signal::KILL.as_raw()),
                }
            }
            order => {
                let _ = kill_process_group(program, order);
            }
        }
    }
}

struct Reaped {
    /// The program's exit status, if it was reaped.
    status: Option<i32>,
    /// Whether children are left.
    left: bool,
}

fn reap(program: Pid) -> Reaped {
    let mut reaped = Reaped { status: None, left: true };
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => reaped.status = Some(status.as_raw()),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return reaped,
            Err(_no_children) => {
                reaped.left = false;
                return reaped;
            }
        }
    }
}

/// Kills all descendants until none is left or time is up. Returns the program's exit status if it was reaped.
fn hunt(program: Pid) -> Option<i32> {
    let until = Instant::now() + HUNT;
    let mut status = None;
    loop {
        // A killed process may leave orphans that this scan missed. The next scan finds them.
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let reaped = reap(program);
        status = status.or(reaped.status);
        if !reaped.left || Instant::now() >= until {
            return status;
        }
        let _ = sys::wait_signal_for(&[Signal::CHILD], LOOK);
    }
}

/// Returns all living descendants that one scan of `/proc` finds.
fn descendants() -> Vec<Pid> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Ok(Some(stat)) = Stat::of(pid)
            && stat.lives()
        {
            all.push((pid, stat.parent));
        }
    }
    let mut known = vec![getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&parent) = known.get(next) {
        known.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    known.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}
