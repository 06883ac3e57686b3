//! Gates: commands that the harness runs on the work, and what their failure says to whoever must mend it.

use std::path::{Path, PathBuf};

use acquit_core::failure::Failure;
use acquit_core::gate::{Command, Gate, Verdict};
use acquit_core::leg::Ending;
use acquit_core::time::Span;

use crate::agent;
use crate::harness::{Desk, GRACE, Trouble, Watch, chain, span};
use crate::process::{self, Exit, Limits, Spec, Stderr, Stdin, Stdout};

mod distill;

pub use distill::distill;

/// A gate that prints more than this is in a loop.
const OUTPUT_LIMIT: u64 = 256 * 1024 * 1024;

/// How a command ended.
pub(crate) struct Ran {
    /// Whether it ended with code 0.
    pub(crate) passed: bool,
    /// How, in words.
    pub(crate) ended: String,
    /// Why it did not come to an end of its own, if it did not.
    pub(crate) cut_short: Option<String>,
    /// How long it took.
    pub(crate) took: Span,
    /// Where its output is.
    pub(crate) log: PathBuf,
}

/// Runs a gate on the tree.
pub(crate) fn run(desk: &mut Desk<'_>, gate: &Gate, tree: &Path) -> Result<Verdict, Trouble> {
    let ran = command(desk, gate.name.as_str(), &gate.run, gate.timeout, tree)?;
    let failure = (!ran.passed).then(|| {
        let found = distill(&ran.log, tree);
        let message = match (&ran.cut_short, found.message.is_empty()) {
            (_, true) => format!("`{}`: {}; it printed nothing", gate.run, ran.ended),
            (Some(why), false) => format!("`{}`: {why}\n{}", gate.run, found.message),
            (None, false) => found.message,
        };
        Failure {
            gate: gate.name.clone(),
            kind: gate.kind.clone(),
            message,
            location: found.location,
            excerpt: found.excerpt,
        }
    });
    Ok(Verdict {
        gate: gate.name.clone(),
        passed: ran.passed,
        severity: gate.severity,
        command: gate.run.to_string(),
        ended: ran.ended,
        took: ran.took,
        output: ran.log.to_string_lossy().into_owned(),
        failure,
    })
}

/// Runs a command of the project in its tree: no secrets, no input, output to a file of the leg.
pub(crate) fn command(
    desk: &mut Desk<'_>,
    name: &str,
    command: &Command,
    timeout: Span,
    tree: &Path,
) -> Result<Ran, Trouble> {
    let (program, args) = agent::program(command).map_err(|error| Trouble::harness(&error))?;
    let folder = desk.world.leg_folder(desk.hold.leg);
    std::fs::create_dir_all(folder.path())
        .map_err(|error| Trouble::file("create the folder", folder.path(), &error))?;
    let log = folder.check(name);
    let mut env = desk.world.environment.common();
    // Most tools take this as "nobody is watching": no prompts, no progress bars.
    env.push(("CI".into(), "true".into()));
    let spec = Spec {
        program,
        args,
        cwd: tree.to_owned(),
        env,
        stdin: Stdin::Closed,
        stdout: Stdout::Truncate(log.clone()),
        stderr: Stderr::WithStdout,
        limits: Limits { time: timeout.duration(), idle: None, output: OUTPUT_LIMIT, grace: GRACE },
    };
    let child = match desk.world.spawner.spawn(&spec) {
        Ok(child) => child,
        // The program may be one of the repository's own, which the change has removed: the work is at fault, not the harness.
        Err(
            error @ (process::Error::ProgramMissing { .. } | process::Error::ProgramNotExecutable { .. }),
        ) => {
            let why = format!("failed to {}", chain(&error));
            return Ok(Ran {
                passed: false,
                ended: why.clone(),
                cut_short: Some(why),
                took: Span::from(0),
                log,
            });
        }
        Err(error) => return Err(Trouble::harness(&error)),
    };
    let mut watch = Watch::new(desk, None);
    let ended = child.watch(&mut watch).map_err(|error| Trouble::harness(&error));
    if let Some(error) = watch.broken {
        return Err(error.into());
    }
    if watch.cancelled {
        return Err(Trouble::Leg(Ending::Cancelled));
    }
    let ended = ended?;
    Ok(Ran {
        passed: ended.exit == Exit::Code(0),
        ended: ended.exit.to_string(),
        cut_short: match ended.exit {
            Exit::Code(_) | Exit::Signal(_) => None,
            Exit::TimedOut { .. } | Exit::Idle { .. } | Exit::OutputLimit { .. } | Exit::Cancelled => {
                Some(ended.exit.to_string())
            }
        },
        took: span(ended.duration),
        log,
    })
}
