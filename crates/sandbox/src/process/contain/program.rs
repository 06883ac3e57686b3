//! The last steps before the program runs: new session, no inherited descriptors, working directory, `exec`.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use acquit_core::sandbox::Mode;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{chdir, setsid};

use super::super::lookup;
use super::super::status::{self, Failure, Step};
use super::landlock::Around;
use super::plan::Plan;
use super::{NOT_STARTED, lock, sys};
use crate::sandbox::Policy;

/// Executes the program, or reports why it failed.
pub(super) fn run(plan: &Plan, policy: Option<&Policy>, around: Around, side: Side) -> ! {
    let Side { pipe, door } = side;
    let failure = become_program(plan, policy, around, pipe.as_ref(), door.as_ref());
    if let Some(pipe) = pipe {
        status::report_failure(pipe, failure);
    }
    sys::exit(NOT_STARTED)
}

/// Connections of the program's process before it executes the program.
pub(super) struct Side {
    /// Reports a failure to start.
    pub(super) pipe: Option<OwnedFd>,
    /// Socket to init, if that decides about executions.
    pub(super) door: Option<OwnedFd>,
}

fn become_program(
    plan: &Plan,
    policy: Option<&Policy>,
    around: Around,
    pipe: Option<&OwnedFd>,
    door: Option<&OwnedFd>,
) -> Failure {
    if let Err(errno) = setsid() {
        return Failure::new(Step::Session, errno);
    }
    if let Err(errno) = sys::close_on_exec_from(3) {
        return Failure::new(Step::Files, errno);
    }
    if let Err(errno) = chdir(&plan.cwd) {
        return Failure::new(Step::Cwd, errno);
    }
    sys::reset_signals();
    if let Some(policy) = policy {
        match lock::close(policy, around, door) {
            Ok(missing) => {
                if let Some(pipe) = pipe {
                    status::report_missing(pipe, missing);
                }
                if policy.mode == Mode::On && (missing.breaks_a_promise() || around == Around::Machine) {
                    return Failure::new(Step::Promise, Errno::OPNOTSUPP);
                }
            }
            Err(failure) => return failure,
        }
    }
    execute(plan)
}

/// Tries every candidate for the program name. Reports a file that cannot be executed only if no later candidate
/// runs.
fn execute(plan: &Plan) -> Failure {
    let path = sys::environment_path();
    let mut failure = Failure::new(Step::Exec, Errno::NOENT);
    for candidate in lookup::candidates(&plan.program, path.as_deref()) {
        let Ok(file) = CString::new(candidate.as_os_str().as_bytes()) else { continue };
        match sys::exec(&file, &plan.argv) {
            Errno::NOENT if access(&candidate, Access::EXISTS).is_ok() => {
                failure = Failure::new(Step::Interpreter, Errno::NOENT);
            }
            Errno::NOENT | Errno::NOTDIR => {}
            errno => failure = Failure::new(Step::Exec, errno),
        }
    }
    failure
}
