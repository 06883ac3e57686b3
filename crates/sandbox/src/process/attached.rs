//! Runs programs on the caller's own terminal or pipes: interactive commands and git transports.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::error::Error;
use super::exit::Exit;
use super::spawn::{Spawner, Wanted};
use super::walls::Missing;
use super::{contain, spawn, watch};

/// A program that uses this process's stdin, stdout and stderr.
pub struct Attached<'a> {
    /// A path, or a name to look up in the `PATH` of [`Attached::env`].
    pub program: OsString,
    /// Arguments, without the program name.
    pub args: Vec<OsString>,
    /// Working directory.
    pub cwd: &'a Path,
    /// The complete environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The policy file. Without one, the program is not sandboxed.
    pub policy: Option<&'a Path>,
    /// Becomes readable to request a stop. The program then gets SIGTERM, and is killed after a grace period.
    pub stop: Option<BorrowedFd<'a>>,
}

/// Time between the request to stop and the kill.
const GRACE: Duration = Duration::from_secs(2);

impl Spawner {
    /// Runs the program until it ends; it is killed if this process dies. Calls `begun` once it runs, with the walls
    /// that could not be built.
    pub fn attach(&self, attached: &Attached<'_>, begun: impl FnOnce(Missing)) -> Result<Exit, Error> {
        if let Some(policy) = attached.policy {
            contain::forget_excess(policy);
        }
        // The helper's stdin is the pipe on which it answers, so it opens this process's stdin by path.
        let stdin = PathBuf::from(format!("/proc/{}/fd/0", std::process::id()));
        let wanted = Wanted {
            program: &attached.program,
            args: &attached.args,
            cwd: attached.cwd,
            env: &attached.env,
            stdin: &stdin,
            policy: attached.policy,
        };
        let [stdout, stderr] = spawn::own_streams()?;
        let (tree, held) = self.start(&wanted, stdout, stderr)?;
        begun(held.missing);
        let ended = PollFd::from_borrowed_fd(tree.pidfd(), PollFlags::IN);
        let stop = attached.stop.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN));
        let mut both: Vec<PollFd<'_>> = std::iter::once(ended.clone()).chain(stop).collect();
        while watch::poll(&mut both, Duration::MAX)? == 0 {}
        if !both[0].revents().contains(PollFlags::IN) {
            tree.ask();
            if watch::poll(&mut [ended.clone()], GRACE)? == 0 {
                tree.force();
            }
            while watch::poll(&mut [ended.clone()], Duration::MAX)? == 0 {}
        }
        let reaped = tree.reap()?;
        let excess = attached.policy.and_then(contain::excess);
        Ok(excess.map_or(reaped.exit, Exit::Excess))
    }
}
