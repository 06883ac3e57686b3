//! Checks for secrets wherever work leaves the workspace: commits of a leg, saved attempts, publishing.

use acquit_core::definition::Definition;
use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::leg::Ending;
use acquit_core::secret::Source;
use acquit_core::task::Task;

use crate::ended::granted;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::runtime::Runtime;
use crate::secrets::{self, Redactor, Secret, Vault};
use crate::workspace::{Leak, Leftover, LockedWorkspace, SavedAttempt, Work as Collected};

/// Loads the secrets that a command granted to earlier legs of the task. They may still be in the tree, in attempts, or
/// in the files of a lost leg.
pub(super) fn remember(ctx: &mut LegContext<'_>, job: &Job<'_>) {
    let known = granted_by_command(ctx.runtime, job.definition, job.task);
    if !known.is_empty() {
        ctx.redactor = ctx.redactor.with(&known);
    }
}

/// Returns a redactor for every secret that a task may have left anywhere.
pub(crate) fn redactor(runtime: &Runtime, definition: &Definition, task: &Task) -> Redactor {
    let config = &definition.config;
    let known = secrets::known(
        &Vault::new(config, &runtime.environment, &runtime.spawner),
        config,
        &runtime.environment,
    );
    known.with(&granted_by_command(runtime, definition, task))
}

/// Returns the secrets that a command granted to legs of a task. Leaves out what the command cannot provide now; a
/// stage that needs it will report that.
fn granted_by_command(runtime: &Runtime, definition: &Definition, task: &Task) -> Vec<Secret> {
    let config = &definition.config;
    let by_command = |name: &&String| matches!(config.secrets.get(*name), Some(Source::Command(_)));
    let vault = Vault::new(config, &runtime.environment, &runtime.spawner);
    let names = granted(definition, task).into_iter().filter(by_command);
    names.filter_map(|name| vault.resolve(name).ok()).collect()
}

/// Ends the leg if its work contains a secret. Keeps nothing of that work, because everything that is kept gets
/// published at some point.
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

/// Drops what a lost leg left if it contains a secret. It was saved before this check.
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

/// Checks once more everything that publishing copies.
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

/// Redacts the files of legs whose harness died before it could. Best effort: they are private files.
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
