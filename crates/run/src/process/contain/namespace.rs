//! The helper's part outside of the namespaces: make them, and end as what is inside ends.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::super::exit::Containment;
use super::super::status::{self, Failure, Step};
use super::plan::Plan;
use super::sys::{self, Forked, Namespaces};
use super::{HELD, idmap, init};

/// A namespace with a program in it.
pub(super) struct Namespace {
    init: Pid,
    /// Where init writes how the program ended: pid 1 cannot die of an ordinary signal itself.
    result: OwnedFd,
    /// Open as long as the helper lives, which init can see.
    _life: OwnedFd,
}

/// Makes the namespaces and lets init go on. After an error nothing is left of them and nothing was reported.
pub(super) fn start(plan: &Plan, pipe: &mut Option<OwnedFd>) -> Result<Namespace, Failure> {
    let refused = |errno| Failure::new(Step::Clone, errno);
    let (go, life) = pipe_with(PipeFlags::CLOEXEC).map_err(refused)?;
    let (result, report) = pipe_with(PipeFlags::CLOEXEC).map_err(refused)?;
    let init = match sys::clone(Namespaces::Own).map_err(refused)? {
        Forked::Child => {
            drop((life, result));
            init::main(plan, pipe.take(), &go, &report)
        }
        Forked::Parent(init) => init,
    };
    if let Err(error) = idmap::write(init) {
        // It waits for its signal to go on and has started nothing.
        let _ = kill_process(init, Signal::KILL);
        let _ = waitpid(Some(init), WaitOptions::empty());
        return Err(Failure::new(Step::IdMap, Errno::from_io_error(&error).unwrap_or(Errno::IO)));
    }
    if let Some(pipe) = &pipe {
        status::report_containment(pipe, Containment::PidNamespace);
    }
    // If init is gone its end is seen in a moment, as a death.
    let _ = rustix::io::write(&life, b"g");
    Ok(Namespace { init, result, _life: life })
}

impl Namespace {
    /// Passes orders on until the namespace is empty, then ends as the program did. The kernel lets init's end be seen
    /// only after everything else in its namespace is gone.
    pub(super) fn supervise(self) -> ! {
        loop {
            match sys::wait_signal(&HELD) {
                Signal::CHILD => {
                    if !matches!(waitpid(Some(self.init), WaitOptions::NOHANG), Ok(None)) {
                        self.end()
                    }
                }
                Signal::QUIT => {
                    let _ = kill_process(self.init, Signal::KILL);
                }
                order => {
                    let _ = kill_process(self.init, order);
                }
            }
        }
    }

    fn end(self) -> ! {
        let mut status = [0; 4];
        match rustix::io::read(&self.result, &mut status) {
            Ok(4) => sys::end_as(i32::from_ne_bytes(status)),
            // Init said nothing: it was killed, and the program with it.
            Ok(_) | Err(_) => sys::end_by(Signal::KILL.as_raw()),
        }
    }
}
