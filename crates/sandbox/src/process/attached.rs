//! Programs that take over the terminal, or the pipes, of whoever started them: for people, and for git's transports.

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

/// A program that uses this process's own input and output.
pub struct Attached<'a> {
    /// A path, or a name that is looked up in the `PATH` of its environment.
    pub program: OsString,
    /// The arguments, without the program's name.
    pub args: Vec<OsString>,
    /// The directory in which it starts.
    pub cwd: &'a Path,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// The file with its policy.
    pub policy: Option<&'a Path>,
    /// Can be read when somebody wants it to end. Then it is asked, and killed a moment later.
    pub stop: Option<BorrowedFd<'a>>,
}

/// How long a program that is asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

impl Spawner {
    /// Runs it to its end, which comes by itself or with that of this process. `begun` is called when it runs, with the walls that
    /// it lacks.
    pub fn attach(&self, attached: &Attached<'_>, begun: impl FnOnce(Missing)) -> Result<Exit, Error> {
        if let Some(policy) = attached.policy {
            contain::forget_excess(policy);
        }
        // The helper's own standard input is taken by the pipe on which it answers; it opens this one again by its name.
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
