//! The helper: what `acquit contained …` does after the executable was started again.
//!
//! ```text
//! harness ── helper ──┬─ init (pid 1 of the namespace) ── program (own session) ── whatever it starts
//!                     └─ dies with the harness; init dies with it; with init, by the kernel, everything
//! ```
//!
//! The helper stays outside the namespace, so that it can map users and be signalled as any process. It ends exactly as
//! the program did. Signals are its orders: SIGTERM and SIGINT are passed on to the program's process group, SIGQUIT
//! kills the namespace and waits until it is empty. Where namespaces are refused it becomes the subreaper of the
//! program's tree instead and kills what it finds, which a determined process can escape; the harness is told.
//!
//! It must start fast: it runs once per program, before anything of the command line is looked at, and a harness does not even
//! execute it ([`Launcher`]). What else a sandbox
//! is made of (a read-only root, Landlock, seccomp, the network) belongs into the preparation in `init.rs`, which runs
//! inside the namespaces and before the program exists.

mod cgroup;
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

/// Orders and news that the helper waits for; held back until it looks.
const HELD: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::CHILD];

/// How readily the kernel takes the program's processes when memory runs out: before everybody else's.
const OUT_OF_MEMORY_SCORE: &str = "1000";

/// The exit code when the program was not started. Only for people: the harness reads the reason from the pipe.
const NOT_STARTED: i32 = 125;

/// The word by which the executable knows that it is the helper.
pub const VERB: &str = "contained";

/// The version of Landlock that this kernel has on, if any.
pub fn landlock_version() -> Option<u32> {
    kernel::landlock_version()
}

/// The file beside a policy that says what its program used too much of.
fn excess_file(policy: &Path) -> PathBuf {
    policy.with_extension("excess.json")
}

/// The file beside a policy that says how many processes its program left running.
fn left_file(policy: &Path) -> PathBuf {
    policy.with_extension("left")
}

/// Takes away what an earlier program of the same policy left.
pub(super) fn forget_excess(policy: &Path) {
    let _ = std::fs::remove_file(excess_file(policy));
    let _ = std::fs::remove_file(left_file(policy));
}

/// How many processes the program of a policy left running.
pub(super) fn left(policy: &Path) -> u32 {
    std::fs::read_to_string(left_file(policy)).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// What the program of a policy used too much of, if it was ended for that.
pub(super) fn excess(policy: &Path) -> Option<Excess> {
    serde_json::from_slice(&std::fs::read(excess_file(policy)).ok()?).ok()
}

/// Runs the program that the arguments after `contained` describe, and ends as it does.
pub fn main(args: impl Iterator<Item = OsString>) -> ! {
    go(Plan::parse(args), sys::take_stdin())
}

/// Runs a plan, and says on the pipe why not.
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

/// Comes back only if the program was not started.
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
        // Here, where a root outside of the namespaces makes it final, and before this process closes its own files in /proc.
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

/// Asks for `signal` when the harness dies, and then looks whether it has not died before.
fn die_with_parent(plan: &Plan, signal: Signal) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(signal)).map_err(|errno| Failure::new(Step::Parent, errno))?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) == Some(plan.parent) {
        Ok(())
    } else {
        Err(Failure::new(Step::Parent, Errno::SRCH))
    }
}
