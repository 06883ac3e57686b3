//! Where secrets would leave the workspace: the commits of a leg, the attempts that are kept, what is published.

use std::collections::BTreeSet;

use acquit_core::definition::Definition;
use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::ids::TaskId;
use acquit_core::leg::Ending;
use acquit_core::secret::Source;
use acquit_core::task::{End, Task};
use acquit_core::workflow::Work;

use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::runtime::Runtime;
use crate::secrets::{self, Redactor, Secret, Vault};
use crate::workspace::{Leak, Leftover, LockedWorkspace, SavedAttempt, Work as Collected, remove_folder};

/// Learns what earlier legs of the task were granted by a command: their leavings may still be in the tree, in attempts, in the
/// files of a leg that was lost.
pub(super) fn remember(ctx: &mut LegContext<'_>, job: &Job<'_>) {
    let known = granted_by_command(ctx.runtime, job.definition, job.task);
    if !known.is_empty() {
        ctx.redactor = ctx.redactor.with(&known);
    }
}

/// Everything that a task may have left somewhere and that nobody else may see.
pub(crate) fn redactor(runtime: &Runtime, definition: &Definition, task: &Task) -> Redactor {
    let config = &definition.config;
    let known = secrets::known(
        &Vault::new(config, &runtime.environment, &runtime.spawner),
        config,
        &runtime.environment,
    );
    known.with(&granted_by_command(runtime, definition, task))
}

/// What legs of a task were granted by a command. What cannot be had now is left out; whoever needs it will say so.
fn granted_by_command(runtime: &Runtime, definition: &Definition, task: &Task) -> Vec<Secret> {
    let config = &definition.config;
    let by_command = |name: &&String| matches!(config.secrets.get(*name), Some(Source::Command(_)));
    let mut names = BTreeSet::new();
    for past in &task.past {
        let stage = definition.workflow.stage(past.entry.stage.as_str());
        let Some(Work::Agent(work)) = stage.map(|stage| &stage.work) else { continue };
        let agent = work.agent.as_ref().or(config.agent.as_ref()).and_then(|name| config.agents.get(name));
        let own = agent.map(|agent| agent.secrets.as_slice()).unwrap_or_default();
        names.extend(own.iter().chain(&work.secrets).filter(by_command));
    }
    let vault = Vault::new(config, &runtime.environment, &runtime.spawner);
    names.into_iter().filter_map(|name| vault.resolve(name).ok()).collect()
}

/// Ends the leg if its work has a secret in it. Nothing of that work is kept, because whatever is kept is published one day.
pub(super) fn collected(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    work: &Collected,
) -> Result<(), LegAbort> {
    let tip = match &work.leftover {
        Leftover::Saved(saved) => &saved.commit,
        Leftover::None | Leftover::Committed(_) => &work.head,
    };
    let Some(leak) = workspace.find_secret(&ctx.redactor, &job.start, tip)? else { return Ok(()) };
    workspace.purge(&ctx.hold.leg.to_string())?;
    Err(refused(&leak))
}

/// What a lost leg left was saved before anybody looked at it: it is kept only if it has no secret in it.
pub(super) fn saved(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    saved: Option<SavedAttempt>,
) -> Result<Option<SavedAttempt>, LegAbort> {
    let Some(attempt) = saved else { return Ok(None) };
    let Some(leak) = workspace.find_secret(&ctx.redactor, &job.start, &attempt.commit)? else {
        return Ok(Some(attempt));
    };
    workspace.drop_attempt(&attempt)?;
    ctx.notice(Level::Warning, dropped(&leak));
    Ok(None)
}

/// A last look at everything that publishing brings along.
pub(super) fn before_publishing(
    ctx: &mut LegContext<'_>,
    workspace: &LockedWorkspace,
    base: &CommitId,
    tip: &CommitId,
) -> Result<(), LegAbort> {
    if ctx.redactor.knows_none() {
        return Ok(());
    }
    for (reference, commit) in workspace.attempts()? {
        if let Some(leak) = workspace.find_secret(&ctx.redactor, base, &commit)? {
            workspace.drop_attempt(&SavedAttempt { reference, commit, kept: Vec::new() })?;
            ctx.notice(Level::Warning, dropped(&leak));
        }
    }
    workspace.find_secret(&ctx.redactor, base, tip)?.map_or(Ok(()), |leak| Err(refused(&leak)))
}

/// Takes secrets out of the files of legs whose harness died before it could. Best effort: they are private files.
pub(super) fn clean_lost(ctx: &mut LegContext<'_>, task: &Task) {
    if ctx.redactor.knows_none() {
        return;
    }
    for past in task.past.iter().filter(|past| matches!(past.ending, Ending::Lost { .. })) {
        let leg = acquit_core::ids::LegId { task: ctx.hold.leg.task, number: past.number };
        let folder = ctx.runtime.leg_folder(leg);
        if let Err(error) = ctx.redactor.folder(folder.path()) {
            ctx.notice(
                super::BEST_EFFORT,
                format!("{} may have secrets in it: {error}", folder.path().display()),
            );
        }
    }
}

/// After the last leg of a task: takes away what its agents kept. Where the task can be tried again their homes stay, with the
/// conversations in them and without secrets. Best effort: the folders are private, and go with the workspace.
pub(super) fn clean_homes(runtime: &Runtime, redactor: &Redactor, task: TaskId, end: &End) {
    let homes = runtime.agent_homes(task);
    let again = match end {
        End::Done | End::NoImprovement => false,
        End::Failed { .. } | End::Cancelled { .. } => true,
    };
    if !again {
        let _ = remove_folder(&homes);
        return;
    }
    for home in std::fs::read_dir(&homes).into_iter().flatten().flatten() {
        for part in std::fs::read_dir(home.path()).into_iter().flatten().flatten() {
            if part.file_name() != "home" || redactor.folder(&part.path()).is_err() {
                let _ = remove_folder(&part.path());
            }
        }
    }
}

fn refused(leak: &Leak) -> LegAbort {
    let reason = format!(
        "the work has the secret {} in it ({}); it was thrown away. A secret is never written to a file, a commit or a name: \
         read it from the environment where it is used",
        leak.secret, leak.place
    );
    LegAbort::failed(kind::GUARDRAIL, reason)
}

fn dropped(leak: &Leak) -> String {
    format!("an attempt was thrown away: it has the secret {} in it ({})", leak.secret, leak.place)
}
