//! Starts processes that outlive the caller, such as harnesses, from the foreground or from a worker.
#![allow(clippy::disallowed_methods, reason = "part of the module that spawns")]

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open, set_parent_process_death_signal,
};

use super::watch::poll;
use super::{Error, Spawner};

/// A started process. Dropping this leaves it running.
#[derive(Debug)]
pub struct Detached(Child);

/// Makes the kernel kill this process when its parent ends. Returns false if `parent` is already gone.
pub fn end_with(parent: u32) -> bool {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have died before the call.
    let there = getppid().is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == parent);
    asked.is_ok() && there
}

impl Detached {
    /// Kills the process and reaps it. For processes that die with their parent and can be killed at any point.
    pub fn end(mut self) {
        // Ignore errors: the process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&mut self) {
        // After it was reaped, its pid may belong to another process.
        let runs = self.0.try_wait().is_ok_and(|ended| ended.is_none());
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).filter(|_| runs);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Waits up to `limit` for the process to end. Returns whether it has.
    pub fn ends_within(&mut self, limit: Duration) -> Result<bool, Error> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        if self.has_ended()? {
            return Ok(true);
        }
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit)?;
        self.has_ended()
    }

    /// Returns its pid.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Returns whether the process succeeded, without waiting; `None` while it runs.
    pub fn has_succeeded(&mut self) -> Result<Option<bool>, Error> {
        Ok(self.0.try_wait()?.map(|status| status.success()))
    }

    /// Returns whether the process has ended, without waiting.
    pub fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(self.0.try_wait()?.is_some())
    }
}

/// Replaces this process with another program (`exec`), with the same environment and descriptors. Returns only on
/// failure.
pub fn become_program(program: &Path, args: &[OsString]) -> Error {
    let source = Command::new(program).args(args).exec();
    Error::Helper { helper: program.to_owned(), source }
}

impl Spawner {
    /// Starts this executable again, with other arguments and exactly this environment. It gets its own process
    /// group, so that Ctrl-C in the terminal does not reach it. Its output is appended to `log`.
    pub fn detach(
        &self,
        args: &[OsString],
        env: Vec<(OsString, OsString)>,
        log: &Path,
    ) -> Result<Detached, Error> {
        let output = |source| Error::Output { path: log.to_owned(), source };
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(output)?;
        let errors = file.try_clone().map_err(output)?;
        let child = Command::new(&self.helper)
            .args(args)
            .env_clear()
            .envs(env)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Helper { helper: self.helper.clone(), source })?;
        Ok(Detached(child))
    }

    /// Starts this executable again, with this process's stdout and stderr. For processes that call [`end_with`].
    pub fn beside(&self, args: &[OsString], env: Vec<(OsString, OsString)>) -> Result<Detached, Error> {
        let child = Command::new(&self.helper)
            .args(args)
            .env_clear()
            .envs(env)
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Helper { helper: self.helper.clone(), source })?;
        Ok(Detached(child))
    }

    /// Replaces this process with this executable and other arguments (`exec`). Returns only on failure.
    pub fn become_again(&self, args: &[OsString]) -> Error {
        if let Some(launcher) = &self.launcher {
            launcher.end();
        }
        become_program(&self.helper, args)
    }
}
