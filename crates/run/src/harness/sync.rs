//! Follows the base branch. When it has moved, the work is rebased before it continues, and counts as good there only
//! after gates pass. If the work goes to a forge, the branch of the forge counts; the branch of a plain git server is
//! checked too.
//!
//! A leg follows at its start if its own gates will judge the result, or if there is no work yet. An action follows
//! before it does anything, and gates the work again. Work with conflicts goes to the stage that resolves them, or to a
//! person.

use acquit_core::conflict;
use acquit_core::event::Level;
use acquit_core::failure::{Failure, Location, kind};
use acquit_core::ids::Name;
use acquit_core::leg::{Ending, Purpose};
use acquit_core::outcome::Outcome;
use acquit_core::workflow::Work;

use crate::git::{self, CommitId, Git, Signing};
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{Conflicted, LockedWorkspace, Move, Rebased, Work as Collected};

/// Name of the resolution check among gates.
const RESOLUTION: &str = "resolution";

/// Maximum number of conflicting files to name.
const FILES_NAMED: usize = 10;

/// Updates the start commit of the leg.
pub(super) fn before_leg(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    workspace: &LockedWorkspace,
) -> Result<(), LegAbort> {
    let follows = match (&job.entry.purpose, &job.stage.work) {
        (Purpose::Resolve { onto, .. }, _) => {
            let onto = onto.parse::<CommitId>().map_err(|error| LegAbort::harness(&error))?;
            return begin_resolving(ctx, job, workspace, onto);
        }
        // A fix starts from the rejected work.
        (Purpose::Fix { .. } | Purpose::Merge, _) | (_, Work::Action { .. } | Work::Human { .. }) => false,
        (Purpose::Work | Purpose::Recheck { .. }, Work::Agent(_) | Work::Check) => {
            job.start == job.base || !job.stage.gates.is_empty()
        }
    };
    if !follows {
        return Ok(());
    }
    if let Some(upstream) = job.upstream.clone() {
        ready(ctx, job, workspace)?;
        // Not fatal here: delivery fetches again, and then the forge must answer.
        if let Err(missed) = upstream.look(ctx, job, workspace) {
            ctx.notice(
                Level::Warning,
                format!("the leg goes on with what is known of the base branch: {missed}"),
            );
            return Ok(());
        }
    }
    if let Some(server) = job.server.clone() {
        ready(ctx, job, workspace)?;
        server.look(ctx, job, workspace);
    }
    match follow(ctx, job, workspace, None)? {
        Some((onto, conflict)) if job.definition.workflow.conflict.is_some() => {
            Err(LegAbort::Leg(ending(job, &onto, conflict)))
        }
        Some((onto, conflict)) => {
            let words = ending(job, &onto, conflict).trouble().unwrap_or_default();
            ctx.notice(Level::Warning, format!("{words}; the work goes on where it stood"));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Rebases the work onto its base branch if that has moved. Returns the conflict, if there is one; then nothing has
/// changed.
pub(super) fn follow(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    workspace: &LockedWorkspace,
    signing: Option<&Signing>,
) -> Result<Option<(CommitId, Conflicted)>, LegAbort> {
    let Some(branch) = &job.task.seed.base.branch else { return Ok(None) };
    let git = &ctx.runtime.git;
    let now = now(git, job, branch).map_err(|error| LegAbort::harness(&error))?;
    // If the branch is gone, the work stays where it is.
    let Some(onto) = now.filter(|now| *now != job.base) else { return Ok(None) };
    job.source.check_complete(git, &onto).map_err(|error| {
        LegAbort::failed(kind::CONFIG, format!("failed to {}", crate::harness::chain(&error)))
    })?;
    let start = if job.start == job.base {
        onto.clone()
    } else {
        ready(ctx, job, workspace)?;
        let work = Move { from: &job.base, onto: &onto, tip: &job.start };
        match workspace.rebase(work, &words(job), signing)? {
            Rebased::Clean(tip) => tip,
            Rebased::Absorbed => onto.clone(),
            Rebased::Conflict(conflict) => return Ok(Some((onto, conflict))),
        }
    };
    job.source
        .pin(git, ctx.runtime.store(), job.task.id(), &onto)
        .map_err(|error| LegAbort::harness(&error))?;
    ctx.notice(Level::Info, format!("{branch} has moved: the work stands on {} now", onto.short()));
    (job.start, job.base) = (start, onto);
    Ok(None)
}

/// Returns the current base branch. If the work goes to a forge, that is the forge's branch, even if the user has
/// unpushed commits. Otherwise it is the branch of the user's repository, unless the server that the repository comes
/// from is ahead of it.
fn now(git: &Git, job: &Job<'_>, branch: &str) -> Result<Option<CommitId>, git::Error> {
    if job.upstream.is_none() && job.server.is_none() {
        return job.source.branch_known_at(git, branch, &job.base);
    }
    let local = job.source.branch(git, branch)?;
    let there = job.source.tracking_ref(git, branch)?;
    if job.upstream.is_none() {
        return crate::leg::git_server::ahead(git, job, local, there);
    }
    Ok(there.or(local))
}

/// Ends a leg because of a conflict.
pub(super) fn ending(job: &Job<'_>, onto: &CommitId, conflict: Conflicted) -> Ending {
    let branch = job.task.seed.base.branch.as_deref().unwrap_or("the base branch");
    let mut files: Vec<&str> = conflict.files.iter().map(String::as_str).take(FILES_NAMED).collect();
    if conflict.files.len() > FILES_NAMED {
        files.push("…");
    }
    let reason = format!(
        "{branch} has moved to {}, and the work conflicts with it in {}",
        onto.short(),
        files.join(", ")
    );
    Ending::Conflict { onto: onto.to_string(), hunks: conflict.hunks, reason }
}

/// Prepares the tree of a resolver: the work on the branch, with conflict markers.
fn begin_resolving(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    workspace: &LockedWorkspace,
    onto: CommitId,
) -> Result<(), LegAbort> {
    ready(ctx, job, workspace)?;
    let work = Move { from: &job.base, onto: &onto, tip: &job.start };
    let start = match workspace.rebase(work, &words(job), None)? {
        Rebased::Clean(tip) => tip,
        Rebased::Absorbed => onto.clone(),
        Rebased::Conflict(conflict) => conflict.commit,
    };
    let pinned = job.source.pin(&ctx.runtime.git, ctx.runtime.store(), job.task.id(), &onto);
    pinned.map_err(|error| LegAbort::harness(&error))?;
    (job.start, job.base) = (start, onto);
    Ok(())
}

/// Returns what is wrong with a resolution: conflict markers, and changes of either side that it lost without saying
/// so.
pub(super) fn resolution(
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    outcome: &Outcome,
    collected: &Collected,
) -> Result<Vec<Failure>, LegAbort> {
    let Purpose::Resolve { side, .. } = &job.entry.purpose else { return Ok(Vec::new()) };
    let parse = |text: &str| text.parse::<CommitId>().map_err(|error| LegAbort::harness(&error));
    let (from, tip) = match side {
        Some(side) => (parse(&side.base)?, parse(&side.tip)?),
        None => (parse(job.task.base())?, parse(&job.task.tip)?),
    };
    let given_up = conflict::superseded(&outcome.payload);
    let work = Move { from: &from, onto: &job.base, tip: &tip };
    let wrong = workspace.resolution(work, &collected.head, &given_up)?;
    let failure = |wrong: conflict::Wrong| Failure {
        gate: Name::literal(RESOLUTION),
        kind: Name::literal(kind::CONFLICT),
        message: wrong.what,
        location: Some(Location { path: wrong.path, line: wrong.line }),
        excerpt: None,
    };
    Ok(wrong.into_iter().map(failure).collect())
}

/// Creates the repository of the workspace if there is none yet.
pub(super) fn ready(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
) -> Result<(), LegAbort> {
    if !workspace.has_repository() {
        workspace.prepare(&ctx.hold.leg.to_string(), &job.start, &job.task.seed.branch)?;
    }
    Ok(())
}

/// Returns the message of a commit that replaces several.
fn words(job: &Job<'_>) -> String {
    format!("{}: the work so far, on another base\n\nTask: {0}\n", job.task.id())
}
