//! Who a process is, in a form that can be stored and asked again after a crash or a restart of the machine.
//!
//! A pid alone is reused. Together with the time at which the process started, and the boot in which that time was
//! counted, it never means another. In a container the same number is another process, so the pid namespace is part of the boot.

use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::procfs::Stat;

/// A process of this machine that can be recognised later.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    boot: String,
    pid: i32,
    start: u64,
}

impl Identity {
    /// Of the process that asks.
    pub fn of_self() -> io::Result<Self> {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Of another process; `None` when there is none of that number.
    pub fn of(pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = Stat::of(pid)? else { return Ok(None) };
        Ok(Some(Self { boot: boot()?, pid, start: stat.start }))
    }

    /// Of a process that was recognised earlier, from what was stored of it.
    pub fn from_parts(boot: &str, pid: u32, start: u64) -> Self {
        // A number that no process can have belongs to a process that is gone.
        Self { boot: boot.to_owned(), pid: i32::try_from(pid).unwrap_or(i32::MAX), start }
    }

    /// The boot in which it started, and the pid namespace that counts it.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// When it started, in the kernel's ticks since boot.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether somebody has stopped it, as SIGSTOP does: it does nothing until it is woken.
    pub fn is_stopped(&self) -> io::Result<bool> {
        Ok(self.is_alive()? && Stat::of(self.pid)?.is_some_and(|stat| stat.state == b'T'))
    }

    /// Ends it at once, if it is this very process and ours to end. One that is gone is as good.
    pub fn end(&self) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // Looked at while it is held: the number cannot become another's any more.
        if self.is_alive()? {
            pidfd_send_signal(process, Signal::KILL)?;
        }
        Ok(())
    }

    /// Whether it still runs *on this machine, in this boot*. A process of another machine is never alive here: whoever
    /// shares a store between machines compares their names first.
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
