//! Processes that go on by themselves: harnesses. Started from the foreground or by a worker, ended by nobody but their work.
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

/// A harness that was started. Dropping this leaves it running.
#[derive(Debug)]
pub struct Detached(Child);

/// Ends this process, at once and however, with the one that started it. Says whether that one, `parent`, is still there.
pub fn end_with(parent: u32) -> bool {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have died before this was asked for.
    let there = getppid().is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == parent);
    asked.is_ok() && there
}

impl Detached {
    /// Ends it, whatever it does. For those that end with their parent and may be killed anywhere.
    pub fn end(mut self) {
        // Gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to stop, as Ctrl-C does.
    pub fn interrupt(&mut self) {
        // One that is over and was waited for has no number any more.
        let runs = self.0.try_wait().is_ok_and(|ended| ended.is_none());
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).filter(|_| runs);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Whether it is over within this time.
    pub fn ends_within(&mut self, limit: Duration) -> Result<bool, Error> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        if self.has_ended()? {
            return Ok(true);
        }
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit)?;
        self.has_ended()
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it ended well; `None` while it runs. Never waits.
    pub fn has_succeeded(&mut self) -> Result<Option<bool>, Error> {
        Ok(self.0.try_wait()?.map(|status| status.success()))
    }

    /// Whether it is over. Never waits.
    pub fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(self.0.try_wait()?.is_some())
    }
}

/// Makes this process another program, with the same environment and descriptors. Returns only if that failed.
pub fn become_program(program: &Path, args: &[OsString]) -> Error {
    let source = Command::new(program).args(args).exec();
    Error::Helper { helper: program.to_owned(), source }
}

impl Spawner {
    /// Starts this program again, with other arguments and exactly this environment. It gets a process group of its own,
    /// so that a Ctrl-C in the terminal does not reach it; what it prints goes to the end of `log`.
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

    /// Starts this program again beside this process: it says what it says where this one does. For those that call [`end_with`].
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

    /// Makes this process this program again, with other arguments. Returns only if that failed.
    pub fn become_again(&self, args: &[OsString]) -> Error {
        if let Some(launcher) = &self.launcher {
            launcher.end();
        }
        become_program(&self.helper, args)
    }
}
