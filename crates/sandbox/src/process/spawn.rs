//! Starts contained programs through the helper.
#![allow(clippy::disallowed_methods, reason = "this is the module that spawns")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::capture::Guard;
use super::contain::{self, Launcher, Plan};
use super::error::Error;
use super::exit::Containment;
use super::output::Output;
use super::spec::{Spec, Stdin};
use super::status::{self, Answer};
use super::tree::Tree;
use super::walls::Missing;
use super::watch::Child;

/// Timeout for the helper to start a program. It usually takes milliseconds; a machine that swaps may need seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(20);

/// How the helper tracks the process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// With a pid namespace, or the subreaper if the machine refuses one.
    Best,
    /// Always with the subreaper.
    Subreaper,
}

/// Starts programs.
#[derive(Debug, Clone)]
pub struct Spawner {
    /// The executable that calls [`contain::main`](super::contain::main).
    pub helper: PathBuf,
    /// How to track process trees.
    pub isolation: Isolation,
    /// Forks itself to make helpers. Without a launcher, `helper` is executed.
    pub launcher: Option<Arc<Launcher>>,
}

/// A program, as the helper needs it.
pub(super) struct Wanted<'a> {
    pub(super) program: &'a OsStr,
    pub(super) args: &'a [OsString],
    pub(super) cwd: &'a Path,
    pub(super) env: &'a [(OsString, OsString)],
    pub(super) stdin: &'a Path,
    pub(super) policy: Option<&'a Path>,
}

impl Spawner {
    /// Creates a spawner that tracks process trees as well as the machine allows.
    pub fn new(helper: impl Into<PathBuf>) -> Self {
        Self { helper: helper.into(), isolation: Isolation::Best, launcher: None }
    }

    /// Makes helpers with a launcher.
    #[must_use]
    pub fn with_launcher(mut self, launcher: Option<Launcher>) -> Self {
        self.launcher = launcher.map(Arc::new);
        self
    }

    /// Starts a program. On return it runs or has already ended.
    pub fn spawn(&self, spec: &Spec) -> Result<Child, Error> {
        let started = Instant::now();
        let (output, files) = Output::open(&spec.stdout, &spec.stderr, spec.limits.output)?;
        let stdin = match &spec.stdin {
            Stdin::Closed => Path::new("/dev/null"),
            Stdin::File(path) => path,
        };
        let policy = spec.policy.as_deref();
        if let Some(policy) = policy {
            contain::forget_excess(policy);
        }
        let wanted = Wanted {
            program: &spec.program,
            args: &spec.args,
            cwd: &spec.cwd,
            env: &spec.env,
            stdin,
            policy,
        };
        let (tree, held) = self.start(&wanted, files.stdout.into(), files.stderr.into())?;
        Ok(Child::new(tree, output, held, spec, started))
    }

    /// Starts the helper and waits until the program runs.
    pub(super) fn start(
        &self,
        wanted: &Wanted<'_>,
        stdout: OwnedFd,
        stderr: OwnedFd,
    ) -> Result<(Tree, Held), Error> {
        let (answers, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        let words = Plan::words(std::process::id(), self.isolation, wanted);
        let started = match &self.launcher {
            Some(launcher) => launcher
                .launch(&words, wanted.env, [&pipe, &stdout, &stderr])
                .inspect(|_| drop(pipe))
                .map_err(io::Error::from),
            None => self.execute(&words, wanted.env, [pipe, stdout, stderr]),
        };
        let helper = started.map_err(|source| Error::Helper { helper: self.helper.clone(), source })?;
        let tree = Tree::adopt(helper, Guard::Contained)?;

        let program = || PathBuf::from(wanted.program);
        match status::read(&answers, Instant::now() + START_LIMIT)? {
            Answer::Started(containment, missing) => Ok((tree, Held { containment, missing })),
            Answer::Failed(failure, about) => {
                Err(Error::from_helper(failure, about, program(), wanted.cwd.to_owned()))
            }
            Answer::Silent => Err(Error::Silent { program: program() }),
            Answer::Late => Err(Error::StartLimit { program: program(), limit: START_LIMIT }),
        }
    }

    /// Executes `helper`.
    fn execute(
        &self,
        words: &[OsString],
        environment: &[(OsString, OsString)],
        [pipe, stdout, stderr]: [OwnedFd; 3],
    ) -> io::Result<Pid> {
        let mut command = Command::new(&self.helper);
        command.arg(contain::VERB).args(words);
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        // Use a separate process group: Ctrl-C in a terminal then reaches only the harness, which decides what to do.
        command.process_group(0);
        // Pass the pipe as stdin. This is the only way to pass a descriptor to this child without leaking it to a
        // child that another thread spawns at the same time. `command` owns our copy and closes it when dropped.
        command.stdin(pipe).stdout(stdout).stderr(stderr);
        command.spawn().map(|child| Pid::from_child(&child))
    }
}

/// Duplicates this process's stdout and stderr.
pub(super) fn own_streams() -> io::Result<[OwnedFd; 2]> {
    Ok([io::stdout().as_fd().try_clone_to_owned()?, io::stderr().as_fd().try_clone_to_owned()?])
}

/// How a program is contained.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) containment: Containment,
    pub(super) missing: Missing,
}
