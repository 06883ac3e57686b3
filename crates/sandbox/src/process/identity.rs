//! Identifies a process across crashes and reboots, in a form that can be stored.
//!
//! Pids are reused. A pid together with the process's start time and the boot ID never refers to another process. In
//! a container the same pid is another process, so the boot ID includes the pid namespace.

use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::procfs::Stat;

/// A process of this machine, identified by boot ID, pid and start time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    boot: String,
    pid: i32,
    start: u64,
}

impl Identity {
    /// Identifies the current process.
    pub fn of_self() -> io::Result<Self> {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Identifies another process. `None` if there is no process with this pid.
    pub fn of(pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = Stat::of(pid)? else { return Ok(None) };
        Ok(Some(Self { boot: boot()?, pid, start: stat.start }))
    }

    /// Restores an identity from stored values.
    pub fn from_parts(boot: &str, pid: u32, start: u64) -> Self {
        // A pid out of range belongs to no running process.
        Self { boot: boot.to_owned(), pid: i32::try_from(pid).unwrap_or(i32::MAX), start }
    }

    /// Returns the ID of the boot in which it started, with its pid namespace.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Returns its start time, in clock ticks since boot.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns its pid.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns whether it is stopped, as by SIGSTOP: it does nothing until it is continued.
    pub fn is_stopped(&self) -> io::Result<bool> {
        Ok(self.is_alive()? && Stat::of(self.pid)?.is_some_and(|stat| stat.state == b'T'))
    }

    /// Kills it, if it is this very process and we may. Succeeds if it is gone already.
    pub fn end(&self) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // Check this while the pidfd is open: the pid cannot be reused now.
        if self.is_alive()? {
            pidfd_send_signal(process, Signal::KILL)?;
        }
        Ok(())
    }

    /// Returns whether it still runs *on this machine, in this boot*. A process of another machine is never alive
    /// here, so callers that share a store between machines must compare host names first.
    pub fn is_alive(&self) -> io::Result<bool> {
        if self.boot != boot()? {
            return Ok(false);
        }
        Ok(Stat::of(self.pid)?.is_some_and(|stat| stat.start == self.start && stat.lives()))
    }
}

fn boot() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    Ok(format!("{}/{}", boot.trim(), namespace.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_like_of_another_time_does_not() {
        let own = Identity::of_self().unwrap();
        assert!(own.is_alive().unwrap());
        assert!(!Identity { start: own.start + 1, ..own.clone() }.is_alive().unwrap());
        assert!(!Identity { boot: "another".into(), ..own }.is_alive().unwrap());
    }

    #[test]
    fn a_process_of_another_pid_namespace_is_not_ours_to_judge() {
        let own = Identity::of_self().unwrap();
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
        assert!(own.boot().ends_with(&*namespace.to_string_lossy()), "{}", own.boot());
    }

    #[test]
    fn a_stored_identity_is_the_same_when_read_again() {
        let own = Identity::of_self().unwrap();
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), own);
    }
}
