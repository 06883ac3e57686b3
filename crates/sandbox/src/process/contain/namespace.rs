//! The helper's part outside the namespaces: creates them, and exits as the program inside did.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::super::exit::{Containment, Excess};
use super::super::status::{self, Failure, Step};
use super::cgroup::Cgroup;
use super::init::Inside;
use super::network::Door;
use super::output_writer::{Scribe, Streams};
use super::plan::Plan;
use super::sys::{self, Forked, Namespaces};
use super::{HELD, idmap, init, network};
use crate::sandbox::{Policy, Reach};

/// A namespace with a program in it.
pub(super) struct Namespace {
    init: Pid,
    scribe: Scribe,
    /// Becomes readable when a signal is pending.
    signals: OwnedFd,
    /// Where to record an exceeded limit.
    excess: Option<PathBuf>,
    /// Where to record processes that the program left running.
    left: Option<PathBuf>,
    /// Init writes the program's exit status here: pid 1 cannot die of an ordinary signal itself.
    result: OwnedFd,
    /// The cgroup of the namespace's processes, if systemd delegates one.
    group: Option<Cgroup>,
    /// Memory limit in bytes.
    limit: u64,
    /// Open as long as the helper lives, which lets init notice its death.
    _life: OwnedFd,
}

/// Creates the namespaces and lets init continue. After an error, nothing is left of them and nothing was reported.
pub(super) fn start(
    plan: &Plan,
    policy: Option<&Policy>,
    pipe: &mut Option<OwnedFd>,
) -> Result<Namespace, Failure> {
    let refused = |errno| Failure::new(Step::Clone, errno);
    let (go, life) = pipe_with(PipeFlags::CLOEXEC).map_err(refused)?;
    let (result, report) = pipe_with(PipeFlags::CLOEXEC).map_err(refused)?;
    let namespaces = match policy.map(|policy| &policy.network) {
        Some(Reach::Nobody | Reach::Hosts { .. }) => Namespaces::OwnWithNetwork,
        Some(Reach::Everybody) | None => Namespaces::Own,
    };
    let hosts = policy.and_then(|policy| match &policy.network {
        Reach::Hosts { hosts, log } => Some((hosts, log)),
        Reach::Nobody | Reach::Everybody => None,
    });
    let (inside, outside) = match hosts {
        Some(_) => Door::new().map(|door| (Some(door.inside), Some(door.outside))).map_err(refused)?,
        None => (None, None),
    };
    let streams = if policy.is_some() { Streams::new().map_err(refused)? } else { None };
    let signals = sys::signals(&HELD).map_err(refused)?;
    let group = policy.and_then(|policy| Cgroup::make(&policy.resources));
    let init = match sys::clone(namespaces).map_err(refused)? {
        Forked::Child => {
            drop((life, result, outside, signals));
            init::main(plan, policy, Inside { pipe: pipe.take(), go, report, door: inside, streams })
        }
        Forked::Parent(init) => init,
    };
    drop((report, inside));
    let scribe = streams.map(Streams::scribe).unwrap_or_default();
    let mapped = idmap::write(init).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    if let Err(errno) = mapped {
        // Init still waits for its signal and has started nothing.
        let _ = kill_process(init, Signal::KILL);
        let _ = waitpid(Some(init), WaitOptions::empty());
        return Err(Failure::new(Step::IdMap, errno));
    }
    // Init still waits, so every later process is in the cgroup.
    let group = group.filter(|group| group.add(init).is_some());
    if let Some(pipe) = &pipe {
        status::report_containment(pipe, Containment::PidNamespace);
    }
    // If init is gone, its end is noticed soon, as a death.
    let _ = rustix::io::write(&life, if group.is_some() { init::GO_IN_CGROUP } else { init::GO });
    if let (Some((hosts, log)), Some(outside)) = (hosts, outside) {
        // If this fails, nothing listens: connections to the proxy fail, and the log stays empty.
        let _ = network::serve(hosts, log, &outside);
    }
    let excess = plan.policy.as_deref().map(super::excess_file);
    let left = plan.policy.as_deref().map(super::left_file);
    let limit = policy.map_or(0, |policy| policy.resources.memory);
    Ok(Namespace { init, scribe, signals, excess, left, result, group, limit, _life: life })
}

impl Namespace {
    /// Copies the program's output and forwards signals until the namespace is empty, then exits as the program did.
    /// The kernel reports init's end only after every other process in its namespace is gone.
    pub(super) fn supervise(mut self) -> ! {
        loop {
            self.scribe.until(self.signals.as_fd());
            match sys::wait_signal(&HELD) {
                Signal::CHILD => {
                    if !matches!(waitpid(Some(self.init), WaitOptions::NOHANG), Ok(None)) {
                        self.end()
                    }
                }
                Signal::QUIT => {
                    let _ = kill_process(self.init, Signal::KILL);
                    if let Some(group) = &self.group {
                        group.kill();
                    }
                }
                order => {
                    let _ = kill_process(self.init, order);
                }
            }
        }
    }

    fn end(self) -> ! {
        let mut heard = [0; 256];
        let length = rustix::io::read(&self.result, &mut heard).unwrap_or(0);
        self.scribe.finish();
        if self.group.as_ref().is_some_and(Cgroup::ran_out) {
            let excess = serde_json::to_vec(&Excess::Memory { limit: self.limit }).unwrap_or_default();
            if let Some(file) = self.excess {
                let _ = std::fs::write(file, excess);
            }
            drop(self.group);
            sys::end_by(Signal::KILL.as_raw())
        }
        drop(self.group);
        if let ([status, left], []) = heard[..length].as_chunks::<4>() {
            let left = u32::from_ne_bytes(*left);
            if let Some(file) = self.left.filter(|_| left > 0) {
                let _ = std::fs::write(file, left.to_string());
            }
            sys::end_as(i32::from_ne_bytes(*status))
        }
        // Either init reported an exceeded limit, or it reported nothing: it was killed, and the program with it.
        if let Some(file) = self.excess.filter(|_| length > 0) {
            let _ = std::fs::write(file, &heard[..length]);
        }
        sys::end_by(Signal::KILL.as_raw())
    }
}
