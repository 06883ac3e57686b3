//! Where secrets would leave the workspace: the commits of a leg, the attempts that are kept, what is published.

use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::leg::Ending;
use acquit_core::task::Task;

use super::Trouble;
use super::desk::Desk;
use super::work::Job;
use crate::git::CommitId;
use crate::workspace::{Leak, Leftover, Locked, SavedAttempt, Work};

/// Ends the leg if its work has a secret in it. Nothing of that work is kept, because whatever is kept is published one day.
pub(super) fn collected(
    desk: &Desk<'_>,
    job: &Job<'_>,
    workspace: &Locked,
    work: &Work,
) -> Result<(), Trouble> {
    let tip = match &work.leftover {
        Leftover::Saved(saved) => &saved.commit,
        Leftover::None | Leftover::Committed(_) => &work.head,
    };
    let Some(leak) = workspace.find_secret(&desk.redactor, &job.start, tip)? else { return Ok(()) };
    workspace.purge(&desk.hold.leg.to_string())?;
    Err(refused(&leak))
}

/// What a lost leg left was saved before anybody looked at it: it is kept only if it has no secret in it.
pub(super) fn saved(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    workspace: &Locked,
    saved: Option<SavedAttempt>,
) -> Result<Option<SavedAttempt>, Trouble> {
    let Some(attempt) = saved else { return Ok(None) };
    let Some(leak) = workspace.find_secret(&desk.redactor, &job.start, &attempt.commit)? else {
        return Ok(Some(attempt));
    };
    workspace.drop_attempt(&attempt)?;
    desk.notice(Level::Warning, dropped(&leak));
    Ok(None)
}

/// A last look at everything that publishing brings along.
pub(super) fn before_publishing(
    desk: &mut Desk<'_>,
    workspace: &Locked,
    base: &CommitId,
    tip: &CommitId,
) -> Result<(), Trouble> {
    if desk.redactor.knows_none() {
        return Ok(());
    }
    for (reference, commit) in workspace.attempts()? {
        if let Some(leak) = workspace.find_secret(&desk.redactor, base, &commit)? {
            workspace.drop_attempt(&SavedAttempt { reference, commit, kept: Vec::new() })?;
            desk.notice(Level::Warning, dropped(&leak));
        }
    }
    workspace.find_secret(&desk.redactor, base, tip)?.map_or(Ok(()), |leak| Err(refused(&leak)))
}

/// Takes secrets out of the files of legs whose harness died before it could. Best effort: they are private files.
pub(super) fn clean_lost(desk: &mut Desk<'_>, task: &Task) {
    if desk.redactor.knows_none() {
        return;
    }
    for past in task.past.iter().filter(|past| matches!(past.ending, Ending::Lost { .. })) {
        let leg = acquit_core::ids::LegId { task: desk.hold.leg.task, number: past.number };
        let folder = desk.world.leg_folder(leg);
        if let Err(error) = desk.redactor.folder(folder.path()) {
            desk.notice(
                super::BEST_EFFORT,
                format!("{} may have secrets in it: {error}", folder.path().display()),
            );
        }
    }
}

fn refused(leak: &Leak) -> Trouble {
    let reason = format!(
        "the work has the secret {} in it ({}); it was thrown away. A secret is never written to a file, a commit or a name: \
         read it from the environment where it is used",
        leak.secret, leak.place
    );
    Trouble::failed(kind::GUARDRAIL, reason)
}

fn dropped(leak: &Leak) -> String {
    format!("an attempt was thrown away: it has the secret {} in it ({})", leak.secret, leak.place)
}
