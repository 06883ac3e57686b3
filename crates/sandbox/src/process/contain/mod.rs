//! The helper: what `acquit contained …` does.
//!
//! ```text
//! harness ── helper ──┬─ init (pid 1 of the namespace) ── program (own session) ── its descendants
//!                     └─ dies with the harness; init dies with it, and the kernel kills everything in the namespace
//! ```
//!
//! The helper stays outside the namespace, so that it can map users and receive signals like any process. It exits
//! exactly as the program did. Signals control it: it passes SIGTERM and SIGINT on to the program's process group; on
//! SIGQUIT it kills the namespace and waits until it is empty. If the machine refuses namespaces, it becomes the
//! subreaper of the program's process tree instead and kills what it finds. A determined process can escape that; the
//! harness is told.
//!
//! The helper must start fast: it runs once per program, before any argument parsing, and a harness does not even
//! execute it ([`Launcher`]). The rest of the sandbox (read-only root, Landlock, seccomp, network) is set up in
//! `init.rs`, inside the namespaces and before the program exists.

mod cgroup;
mod commands;
mod cover;
mod filter;
mod hidden_memory;
mod idmap;
mod init;
mod kernel;
mod landlock;
mod launcher;
mod layer;
mod lock;
mod namespace;
mod network;
mod output_writer;
mod plan;
mod program;
mod socket_buffers;
mod subreaper;
pub(super) mod sys;
mod usage;
mod view;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::exit::{Excess, Refusal};
use super::spawn::Isolation;
use super::status::{self, Failure, Step};
use crate::sandbox::Policy;
pub use launcher::Launcher;
pub(super) use plan::Plan;

/// Signals that the helper waits for; blocked otherwise.
const HELD: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::CHILD];

/// OOM score of the program's processes: the kernel kills them before all others.
const OUT_OF_MEMORY_SCORE: &str = "1000";

/// Exit code if the program was not started. Only informative: the harness reads the reason from the pipe.
const NOT_STARTED: i32 = 125;

/// The argument that makes the executable a helper.
pub const VERB: &str = "contained";

/// Returns the Landlock ABI version of the running kernel, if Landlock is enabled.
pub fn landlock_version() -> Option<u32> {
    kernel::landlock_version()
}

/// Returns the file next to a policy that records an exceeded limit.
fn excess_file(policy: &Path) -> PathBuf {
    policy.with_extension("excess.json")
}

/// Returns the file next to a policy that records the number of processes that the program left running.
fn left_file(policy: &Path) -> PathBuf {
    policy.with_extension("left")
}

/// Removes the records of an earlier program with the same policy.
pub(super) fn forget_excess(policy: &Path) {
    let _ = std::fs::remove_file(excess_file(policy));
    let _ = std::fs::remove_file(left_file(policy));
}

/// Returns the number of processes that the program of a policy left running.
pub(super) fn left(policy: &Path) -> u32 {
    std::fs::read_to_string(left_file(policy)).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the limit that the program of a policy exceeded, if it was killed for that.
pub(super) fn excess(policy: &Path) -> Option<Excess> {
    serde_json::from_slice(&std::fs::read(excess_file(policy)).ok()?).ok()
}

/// Runs the program described by the arguments after `contained`, and exits as it does.
pub fn main(args: impl Iterator<Item = OsString>) -> ! {
    go(Plan::parse(args), sys::take_stdin())
}

/// Runs a plan. If that fails, reports why on the pipe.
fn go(plan: Result<Plan, Failure>, mut pipe: Option<OwnedFd>) -> ! {
    let failure = match plan {
        Ok(plan) => run(&plan, &mut pipe),
        Err(failure) => failure,
    };
    if let Some(pipe) = pipe {
        status::report_failure(pipe, failure);
    }
    sys::exit(NOT_STARTED)
}

/// Runs the program. Returns only if it was not started.
fn run(plan: &Plan, pipe: &mut Option<OwnedFd>) -> Failure {
    if let Err(failure) = die_with_parent(plan, Signal::KILL) {
        return failure;
    }
    if let Err(errno) = sys::open_stdin(&plan.stdin) {
        return Failure::new(Step::Stdin, errno);
    }
    let policy = match plan.policy.as_deref().map(read_policy).transpose() {
        Ok(policy) => policy,
        Err(errno) => return Failure::new(Step::Policy, errno),
    };
    let policy = policy.as_ref();
    if policy.is_some() {
        // Set this here: done by root outside the namespaces, it is final. Later, the process's files in /proc are
        // closed to itself.
        let _ = std::fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_SCORE);
    }
    sys::reset_signals();
    sys::hold(&HELD);

    let why = match plan.isolation {
        Isolation::Subreaper => Refusal::NotWanted,
        Isolation::Best => match namespace::start(plan, policy, pipe) {
            Ok(namespace) => {
                drop(pipe.take());
                namespace.supervise()
            }
            Err(Failure { step, errno }) => Refusal::Refused { step, errno },
        },
    };
    subreaper::run(plan, policy, pipe, why)
}

fn read_policy(path: &Path) -> Result<Policy, Errno> {
    let text = std::fs::read(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    serde_json::from_slice(&text).map_err(|_| Errno::INVAL)
}

/// Requests `signal` for the death of the harness, then checks that it has not died before.
fn die_with_parent(plan: &Plan, signal: Signal) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(signal)).map_err(|errno| Failure::new(Step::Parent, errno))?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) == Some(plan.parent) {
        Ok(())
    } else {
        Err(Failure::new(Step::Parent, Errno::SRCH))
    }
}
