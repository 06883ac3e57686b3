//! Reads source files with grammars in a sandboxed process, because the harness itself must not parse untrusted files.

use std::path::Path;

use acquit_core::sandbox::Mode;

use super::{GRACE, Job, LegAbort, LegContext, Watch, private, program_sandbox};
use crate::process::{Exit, Limits, Spec, Stderr, Stdin, Stdout};
use crate::syntax::{self, Answer, Question};
use crate::untrusted;

/// Maximum size of an answer: a few hundred bytes for each assertion of a change's tests.
const LARGEST_ANSWER: u64 = 64 << 20;

/// Extra time for the process beyond its own limits: to start on a busy machine, and to exit.
const SLACK: std::time::Duration = std::time::Duration::from_secs(10);

/// Reads the files in a sandboxed process. A missing or invalid answer counts as empty: callers fall back to the plain
/// text.
pub(crate) fn ask(ctx: &mut LegContext<'_>, job: &Job<'_>, question: &Question) -> Result<Answer, LegAbort> {
    if question.files.is_empty() && question.tests.is_empty() {
        return Ok(Answer::default());
    }
    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    let place = |name: &str| folder.path().join(name);
    let (asked, answered) = (place("outline-question.json"), place("outline-answer.json"));
    let policy = policy(ctx, job, &place("policy-outline.json"))?;
    let made = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder.path())?;
        private(&asked, &serde_json::to_vec(question)?)
    };
    made().map_err(|error| LegAbort::file("write what is to be outlined into", folder.path(), &error))?;
    let spec = Spec {
        program: ctx.runtime.spawner.helper.clone().into(),
        args: vec![syntax::VERB.into()],
        cwd: "/".into(),
        env: Vec::new(),
        stdin: Stdin::File(asked.clone()),
        stdout: Stdout::Truncate(answered.clone()),
        stderr: Stderr::File(place("outline-errors.log")),
        limits: Limits {
            time: syntax::WHOLE_TIME + syntax::TESTS_TIME + SLACK,
            idle: None,
            output: LARGEST_ANSWER,
            grace: GRACE,
        },
        policy,
    };
    let child = ctx.runtime.spawner.spawn(&spec).map_err(|error| LegAbort::harness(&error))?;
    let mut watch = Watch::new(ctx, None);
    let ended = child.watch(&mut watch).map_err(|error| LegAbort::harness(&error))?;
    let (broken, cancelled) = (watch.broken.take(), watch.cancelled);
    if let Some(error) = broken {
        return Err(error.into());
    }
    if cancelled {
        return Err(LegAbort::Leg(acquit_core::leg::Ending::Cancelled));
    }
    let text = untrusted::text(&answered, LARGEST_ANSWER).ok().flatten().unwrap_or_default();
    for file in [&asked, &answered] {
        // It contains the text of the change, which the repository has anyway.
        let _ = std::fs::remove_file(file);
    }
    let answer = serde_json::from_str(&text).ok().filter(|_| ended.exit == Exit::Code(0));
    Ok(answer.unwrap_or_default())
}

/// Writes the sandbox policy of the process: it sees the system's libraries and itself, and has no network.
fn policy(ctx: &LegContext<'_>, job: &Job<'_>, file: &Path) -> Result<Option<std::path::PathBuf>, LegAbort> {
    if job.definition.config.sandbox == Mode::Off {
        return Ok(None);
    }
    let aside = ctx.runtime.leg_folder(ctx.hold.leg).path().join("outline");
    program_sandbox::seclude(ctx, job, file, &aside, std::slice::from_ref(&ctx.runtime.spawner.helper))?;
    Ok(Some(file.to_owned()))
}
