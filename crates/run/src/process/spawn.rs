//! Starting contained programs, through the helper.
#![allow(clippy::disallowed_methods, reason = "this is the module that spawns")]

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};

use super::capture::Guard;
use super::contain::{self, Plan};
use super::error::Error;
use super::exit::Containment;
use super::output::Output;
use super::spec::{Spec, Stdin};
use super::status::{self, Answer};
use super::tree::Tree;
use super::walls::Missing;
use super::watch::Child;

/// How long the helper may take to start a program. Milliseconds are usual; a machine that swaps may need seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(20);

/// What the helper is to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A pid namespace, and the subreaper where that is refused.
    Best,
    /// The subreaper at once.
    Subreaper,
}

/// Starts programs.
#[derive(Debug, Clone)]
pub struct Spawner {
    /// The executable that [`contain::main`](super::contain::main) is part of.
    pub helper: PathBuf,
    /// How it is to hold programs together.
    pub isolation: Isolation,
}

/// A program as the helper needs to know it.
pub(super) struct Wanted<'a> {
    pub(super) program: &'a OsStr,
    pub(super) args: &'a [OsString],
    pub(super) cwd: &'a Path,
    pub(super) env: &'a [(OsString, OsString)],
    pub(super) stdin: &'a Path,
    pub(super) policy: Option<&'a Path>,
}

impl Spawner {
    /// Programs are held together as well as the machine allows.
    pub fn new(helper: impl Into<PathBuf>) -> Self {
        Self { helper: helper.into(), isolation: Isolation::Best }
    }

    /// Starts a program. When this returns it runs, or it has already ended.
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
        let (tree, held, _) = self.start(&wanted, files.stdout.into(), files.stderr.into())?;
        Ok(Child::new(tree, output, held, spec, started))
    }

    /// Starts the helper and listens until the program runs. The streams are what the standard library made of those
    /// that were asked to be pipes.
    pub(super) fn start(
        &self,
        wanted: &Wanted<'_>,
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<(Tree, Held, Streams), Error> {
        let (answers, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = Command::new(&self.helper);
        let own = std::process::id();
        Plan::write(&mut command, own, self.isolation, wanted);
        command.args(wanted.args);
        command.env_clear().envs(wanted.env.iter().map(|(name, value)| (name, value)));
        // In a group of its own, so that an interrupt typed at a terminal reaches the harness alone, which decides.
        command.process_group(0);
        // The pipe travels as standard input, because that is the one way to pass a descriptor to this child without
        // passing it to any other that a second thread starts at the same moment.
        command.stdin(pipe).stdout(stdout).stderr(stderr);
        let mut child =
            command.spawn().map_err(|source| Error::Helper { helper: self.helper.clone(), source })?;
        // Closes this side's copy of the pipe, whose end would never be seen otherwise.
        drop(command);
        let streams = Streams {
            stdout: child.stdout.take().map(OwnedFd::from),
            stderr: child.stderr.take().map(OwnedFd::from),
        };
        let tree = Tree::adopt(child, Guard::Contained)?;

        let program = || PathBuf::from(wanted.program);
        match status::read(&answers, Instant::now() + START_LIMIT)? {
            Answer::Started(containment, missing) => Ok((tree, Held { containment, missing }, streams)),
            Answer::Failed(failure, about) => {
                Err(Error::from_helper(failure, about, program(), wanted.cwd.to_owned()))
            }
            Answer::Silent => Err(Error::Silent { program: program() }),
            Answer::Late => Err(Error::StartLimit { program: program(), limit: START_LIMIT }),
        }
    }
}

/// How a program is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) containment: Containment,
    pub(super) missing: Missing,
}

/// This side of a child's pipes, where it has some.
pub(super) struct Streams {
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}
