//! Runs a command of the project in a tree: no secrets, no input, its own home, output to a file of the leg.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::failure::kind;
use acquit_core::gate::{Command, Gate, Stopped};
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::sandbox::Network;
use acquit_core::time::Span;
use rustix::process::Signal;

use super::{GRACE, Job, LegAbort, LegContext, ProgramSandbox, Watch, Who, WorkingTree, chain, span};
use crate::agent;
use crate::process::{self, Child, Ended, Exit, Limits, Next, Spec, Stderr, Stdin, Stdout};

/// Variable that names the directory for reports.
pub(crate) const REPORTS: &str = "ACQUIT_REPORTS";

/// Default output limit. A gate without its own limit that prints more is in a loop.
const OUTPUT_LIMIT: u64 = 256 * 1024 * 1024;

/// Delay of a leg whose gate or setup was killed. The machine may be out of memory for a while.
const KILLED_DELAY: Duration = Duration::from_secs(30);

/// Result of a command.
pub(crate) struct Ran {
    /// Whether it exited with code 0.
    pub(crate) passed: bool,
    /// How it ended, as text.
    pub(crate) ended: String,
    /// Its exit code, if it exited.
    pub(crate) code: Option<i32>,
    /// Why it was stopped early, if it was.
    pub(crate) cut_short: Option<CutShort>,
    /// Program that is missing on this machine, if that is why it did not run. No agent can fix that.
    pub(crate) missing: Option<String>,
    /// Whether it was stopped because of its timeout.
    pub(crate) timed_out: bool,
    /// Whether it was cancelled.
    pub(crate) cancelled: bool,
    /// Whether something other than acquit killed it: the kernel when memory ran out, a shutdown, a person. That says nothing about
    /// the work.
    pub(crate) killed: bool,
    /// Duration.
    pub(crate) took: Span,
    /// Path of its output.
    pub(crate) log: PathBuf,
    /// Connections it requested.
    pub(crate) connections: Vec<crate::network::Connection>,
}

/// Why a command was stopped early.
pub(crate) struct CutShort {
    pub(crate) by: Stopped,
    /// Description for people.
    pub(crate) words: String,
}

impl std::fmt::Display for CutShort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

impl Default for Ran {
    /// Returns a result that is not a pass, with nothing else known.
    fn default() -> Self {
        Self {
            passed: false,
            ended: String::new(),
            code: None,
            cut_short: None,
            missing: None,
            timed_out: false,
            cancelled: false,
            killed: false,
            took: Span::from(0),
            log: PathBuf::new(),
            connections: Vec::new(),
        }
    }
}

impl Ran {
    /// Returns why it was stopped early, or else how it ended.
    pub(crate) fn why(&self) -> &str {
        self.cut_short.as_ref().map_or(&self.ended, |cut| &cut.words)
    }
}

/// A command of the project to run.
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) command: &'a Command,
    pub(crate) timeout: Span,
    pub(crate) network: Network,
    /// Variables that the project sets for it.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Output limit in bytes. `None` for the default.
    pub(crate) output: Option<u64>,
    /// Whether to provide a directory for reports.
    pub(crate) reports: Reports,
}

/// Whether the reports of a command are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reports {
    /// The command gets a directory for reports.
    Wanted,
    /// Reports are not read.
    Unread,
}

impl<'a> Wanted<'a> {
    /// A command of a gate. `name` is the gate's name or starts with it.
    pub(crate) fn of(job: &Job<'_>, gate: &'a Gate, name: &'a str, command: &'a Command) -> Self {
        let network = gate.reach(&job.definition.config.network);
        let (timeout, env, output) = (gate.timeout, &gate.env, gate.output);
        Self { name, command, timeout, network, env, output, reports: Reports::Wanted }
    }
}

/// Result of starting a command.
pub(crate) enum Started {
    /// It runs.
    Running(Box<Running>),
    /// It could not be started, and the work is to blame.
    Failed(Ran),
}

/// A running command.
pub(crate) struct Running {
    child: Child,
    sandbox: ProgramSandbox,
    about: String,
    log: PathBuf,
}

/// Runs a command to its end.
pub(crate) fn command(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    working_tree: &WorkingTree,
    wanted: &Wanted<'_>,
) -> Result<Ran, LegAbort> {
    match start(ctx, job, working_tree, wanted)? {
        Started::Running(running) => {
            let all = Running::watch(ctx, vec![*running], &mut |_, _| Next::Continue)?;
            let lost = || LegAbort::failed(kind::HARNESS, "a command that was lost".to_owned());
            all.into_iter().next().ok_or_else(lost)
        }
        Started::Failed(ran) => Ok(ran),
    }
}

pub(crate) fn start(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    working_tree: &WorkingTree,
    wanted: &Wanted<'_>,
) -> Result<Started, LegAbort> {
    let Wanted { name, command, timeout, network, env: set, output, reports } = *wanted;
    let (program, args) = agent::program(command).map_err(|error| LegAbort::harness(&error))?;
    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    std::fs::create_dir_all(folder.path())
        .map_err(|error| LegAbort::file("create the folder", folder.path(), &error))?;
    let log = folder.check(name);
    let sandbox = ProgramSandbox::new(ctx, job, working_tree, name, network, &Who::Check)?;
    let mut env = ctx.runtime.common_variables();
    // Most tools take this as non-interactive: no prompts, no progress bars.
    env.push(("CI".into(), "true".into()));
    // Python compares the age of compiled files with a resolution of a second. Trees change faster than that here.
    env.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    // Base commit of the work, so that tools can get the change with `git diff $ACQUIT_BASE`.
    env.push(("ACQUIT_BASE".into(), job.base().as_str().into()));
    if reports == Reports::Wanted {
        // This fails for example if an earlier run put something there. Then there is no report, which does not count
        // as a pass.
        let _ = std::fs::create_dir_all(working_tree.written.join(&working_tree.reports));
        env.push((REPORTS.into(), working_tree.tree.join(&working_tree.reports).into()));
    }
    let path = crate::versions::path(&working_tree.committed, &ctx.runtime.environment, None);
    let path = path.map(|path| ("PATH".into(), path));
    // Settings of the project override all others except those of the sandbox: without its proxy a program reaches
    // nothing.
    let set = set.iter().map(|(name, value)| (name.into(), value.into()));
    let set = path.into_iter().chain(set).chain(sandbox.environment());
    for (name, value) in set {
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    let spec = Spec {
        program,
        args,
        cwd: working_tree.tree.clone(),
        env,
        stdin: Stdin::Closed,
        stdout: Stdout::Truncate(log.clone()),
        stderr: Stderr::WithStdout,
        limits: Limits {
            time: timeout.duration(),
            idle: None,
            output: output.unwrap_or(OUTPUT_LIMIT),
            grace: GRACE,
        },
        policy: sandbox.policy.clone(),
    };
    let child = match ctx.runtime.spawner.spawn(&spec) {
        Ok(child) => child,
        // The change may have removed a program of the repository. So the work is to blame, not the harness.
        Err(
            error @ (process::Error::ProgramMissing { .. } | process::Error::ProgramNotExecutable { .. }),
        ) => {
            let why = format!("failed to {}", chain(&error));
            // A name without a slash is searched on the machine.
            let missing =
                Some(spec.program.to_string_lossy().into_owned()).filter(|program| !program.contains('/'));
            return Ok(Started::Failed(Ran {
                ended: why.clone(),
                cut_short: Some(CutShort { by: Stopped::NotStarted, words: why }),
                missing,
                log,
                ..Ran::default()
            }));
        }
        Err(error) => return Err(LegAbort::process(&error)),
    };
    let about = format!("`{name}`");
    sandbox.announce(ctx, &about, child.missing());
    Ok(Started::Running(Box::new(Running { child, sandbox, about, log })))
}

impl Running {
    /// Watches several commands to their ends at the same time. `over` is called at each end with the position in the
    /// list, and may stop the others. A cancellation stops all of them.
    pub(crate) fn watch(
        ctx: &mut LegContext<'_>,
        all: Vec<Self>,
        over: &mut dyn FnMut(usize, &Ended) -> Next,
    ) -> Result<Vec<Ran>, LegAbort> {
        let mut children = Vec::new();
        let mut rest = Vec::new();
        for Self { child, sandbox, about, log } in all {
            children.push(child);
            rest.push((sandbox, about, log));
        }
        let mut watch = Watch::new(ctx, None);
        let ended = Child::watch_all(children, &mut watch, over).map_err(|error| LegAbort::harness(&error));
        let mut cleaned = Ok(());
        for (_, _, log) in &rest {
            let clean = watch.ctx.redactor.file(log);
            cleaned = cleaned.and(clean.map_err(|error| LegAbort::file("take secrets out of", log, &error)));
        }
        if let Some(error) = watch.broken {
            return Err(error.into());
        }
        cleaned?;
        if watch.cancelled {
            return Err(LegAbort::Leg(Ending::Cancelled));
        }
        let rans = ended?.into_iter().zip(rest).map(|(ended, (sandbox, about, log))| {
            let connections = sandbox.connections();
            sandbox.end(ctx, &about);
            ran(&ended, log, connections)
        });
        Ok(rans.collect())
    }
}

fn cut_short(exit: Exit) -> Option<CutShort> {
    let (by, words) = match exit {
        Exit::Code(_) | Exit::Signal(_) => return None,
        Exit::TimedOut { .. } | Exit::Idle { .. } => (Stopped::Timeout, exit.to_string()),
        Exit::OutputLimit { .. } => (Stopped::Output, exit.to_string()),
        Exit::Cancelled => (Stopped::Cancelled, exit.to_string()),
        Exit::Excess(excess) => {
            let words = format!("{excess}; the limit is `{}` of [limits] in acquit.toml", excess.key());
            (Stopped::Resource, words)
        }
    };
    Some(CutShort { by, words })
}

/// Returns whether a program was killed from outside. A shell reports a command of its own that was killed with SIGKILL as exit code
/// 137. Other signals come from mistakes of programs.
pub(crate) fn is_killed(exit: Exit) -> bool {
    let signals = [Signal::KILL, Signal::TERM].map(Signal::as_raw);
    match exit {
        Exit::Signal(signal) => signals.contains(&signal),
        Exit::Code(code) => code == 128 + Signal::KILL.as_raw(),
        Exit::TimedOut { .. }
        | Exit::Idle { .. }
        | Exit::OutputLimit { .. }
        | Exit::Cancelled
        | Exit::Excess(_) => false,
    }
}

/// Ends a leg whose command was killed again: nothing is known about the work.
pub(crate) fn killed_again(name: &str, ran: &Ran) -> LegAbort {
    let reason = format!("`{name}` was killed, and not by acquit ({}), so there is no result", ran.ended);
    LegAbort::Leg(Ending::Held { kind: Name::literal(kind::LOST), wait: span(KILLED_DELAY), reason })
}

fn ran(ended: &Ended, log: PathBuf, connections: Vec<crate::network::Connection>) -> Ran {
    Ran {
        passed: ended.exit == Exit::Code(0),
        ended: ended.exit.to_string(),
        code: if let Exit::Code(code) = ended.exit { Some(code) } else { None },
        cut_short: cut_short(ended.exit),
        missing: None,
        timed_out: matches!(ended.exit, Exit::TimedOut { .. } | Exit::Idle { .. }),
        cancelled: ended.exit == Exit::Cancelled,
        killed: is_killed(ended.exit),
        took: span(ended.duration),
        log,
        connections,
    }
}
