//! Pid 1 of the namespace. While it lives the program may; when it ends the kernel kills whatever is left.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, set_parent_process_death_signal, wait};

use super::super::status::{self, Failure, Step};
use super::plan::Plan;
use super::sys::{self, Forked, Namespaces};
use super::{NOT_STARTED, program};

/// Waits for `go`, starts the program, and writes how it ended to `report`.
pub(super) fn main(plan: &Plan, pipe: Option<OwnedFd>, go: &OwnedFd, report: &OwnedFd) -> ! {
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || !told_to_go(go) {
        sys::exit(NOT_STARTED);
    }
    prepare();
    match sys::clone(Namespaces::Inherited) {
        Ok(Forked::Child) => program::run(plan, pipe),
        Ok(Forked::Parent(program)) => {
            drop(pipe);
            supervise(program, report)
        }
        Err(errno) => {
            if let Some(pipe) = pipe {
                status::report_failure(pipe, Failure::new(Step::Clone, errno));
            }
            sys::exit(NOT_STARTED)
        }
    }
}

/// Whether the helper has mapped the users and still lives. The death signal was asked for before this look, so a
/// helper that dies later is noticed by the signal, and one that died earlier here, by its end of the pipe.
fn told_to_go(go: &OwnedFd) -> bool {
    if rustix::io::read(go, &mut [0; 1]) != Ok(1) {
        return false;
    }
    let mut fds = [PollFd::from_borrowed_fd(go.as_fd(), PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)) == Ok(0)
}

/// Makes the surroundings of the program, inside the namespaces; the place for everything that a sandbox adds.
///
/// The mounts of the outside do not change: in a mount namespace of another user namespace the kernel makes them
/// receivers only.
fn prepare() {
    // Without its own /proc the program would see numbers that mean nothing here. A container that hides parts of its
    // /proc forbids the mount; the program's tree is held together all the same.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
}

fn supervise(program: Pid, report: &OwnedFd) -> ! {
    loop {
        match sys::wait_signal(&[Signal::TERM, Signal::INT, Signal::CHILD]) {
            Signal::CHILD => {
                // One signal can stand for many; orphans of the whole namespace end here.
                while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                    if pid == program {
                        let _ = rustix::io::write(report, &status.as_raw().to_ne_bytes());
                        sys::exit(0)
                    }
                }
            }
            order => {
                let _ = kill_process_group(program, order);
            }
        }
    }
}
