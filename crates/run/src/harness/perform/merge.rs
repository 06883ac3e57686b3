//! Merges the task's work into its base branch, in turn with other tasks: through the forge of the repository
//! ([`by_forge`]) or, if there is none, into the branch of the user's repository.
//!
//! The leg delivers its commit to the task's branch, adds it to the merge queue of the base branch and waits. As the
//! head of the queue it merges its own candidate and those that wait ([`super::queue_head`]). Otherwise it reads the
//! result that the head recorded.

use std::time::Duration;

use acquit_core::artifact::Artifact;
use acquit_core::config::By;
use acquit_core::delivery::queue::{Candidate, Place, Queue, Settled};
use acquit_core::event::Level;
use acquit_core::failure::{Failure, kind};
use acquit_core::ids::Name;
use acquit_core::leg::{Ending, Purpose};
use acquit_core::outcome;
use acquit_core::workflow::Commits;

use super::waiting::{AWAY, Candidacy, Waiting, enter};
use super::{by_forge, squash};
use crate::forge;
use crate::git::{CommitId, Signing};
use crate::harness::guard;
use crate::harness::perform::queue_head::Head;
use crate::harness::work::{Done, Proof, by_harness};
use crate::leg::{Job, LegAbort, LegContext, working_tree};
use crate::workspace::{LockedWorkspace, Workspace, remove_folder};

/// Maximum number of rebases of a candidate that conflicts with earlier ones in the queue.
const ROUNDS: u32 = 20;

/// Merges the work of the task.
pub(super) fn merge(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    let Some(branch) = job.task.seed.base.branch.clone() else {
        let words = "the task began at a commit and not at a branch, so there is nothing to merge into";
        return Err(LegAbort::failed(kind::HARNESS, words.to_owned()));
    };
    let queue = Queue { project: job.task.seed.project.path.clone(), branch };
    if job.definition.config.merge.by == By::Forge && job.entry.purpose != Purpose::Merge {
        if let Some(upstream) = job.upstream.clone() {
            return by_forge::merge(ctx, job, commits, workspace, &upstream, &queue);
        }
        // Distinguish between having no forge and having invalid settings for one.
        forge::of(ctx.runtime, &job.definition.config.forge, &job.source)
            .map_err(|error| LegAbort::failed(kind::DELIVERY, format!("failed to {error}")))?;
    }
    if let Some(done) = found(ctx, job, &queue, workspace)? {
        return Ok(done);
    }
    let signing = squash::signing(ctx, job)?;
    for _ in 0..ROUNDS {
        let mut job = job.clone();
        if let squash::Left::Nothing = squash::follow(ctx, &mut job, signing.as_ref(), workspace)? {
            let commit = job.base.to_string();
            return merged(ctx, &job, &queue, &commit, None, workspace);
        }
        let commit = squash::deliver(ctx, &job, commits, signing.as_ref(), workspace)?;
        let names = squash::gate_names(&job);
        let candidate = Candidate {
            commit: commit.to_string(),
            base: job.base.to_string(),
            proof: proof(&job, &names, workspace),
        };
        enter(ctx, &queue, &candidate)?;
        let settled = turn(ctx, &job, &queue, &candidate, &names, signing.as_ref());
        match settled? {
            Settled::Merged { commit } => {
                return merged(ctx, &job, &queue, &commit, Some(&candidate), workspace);
            }
            Settled::Rejected { failures } => {
                ctx.store.leave_queue(ctx.hold, &queue)?;
                return Ok(squash::rejected(&job, failures));
            }
            Settled::Conflict => ctx.store.leave_queue(ctx.hold, &queue)?,
        }
    }
    let reason = format!("others were merged into {} before it each time", queue.branch);
    Err(LegAbort::Leg(Ending::Held { kind: Name::literal(kind::CONFLICT), wait: AWAY, reason }))
}

/// Finds a result that an earlier leg of the task, or the head of the queue, already produced.
fn found(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    queue: &Queue,
    workspace: &LockedWorkspace,
) -> Result<Option<Done>, LegAbort> {
    let Some(entry) = ctx.store.queued(job.task.id())? else { return Ok(None) };
    let now =
        job.source.branch(&ctx.runtime.git, &queue.branch).map_err(|error| LegAbort::harness(&error))?;
    let Some(now) = now else { return Ok(None) };
    let settled = match &entry.settled {
        Some(Settled::Merged { commit }) => Some(commit.as_str()),
        Some(Settled::Conflict | Settled::Rejected { .. }) | None => None,
    };
    // Merges that the task has already recorded belong to earlier work, not to this one.
    let new = |commit: &&str| !job.task.was_merged_as(commit);
    for commit in [settled, entry.planned.as_deref()].into_iter().flatten().filter(new) {
        let Ok(id) = commit.parse::<CommitId>() else { continue };
        if workspace.contains(&now, &id)? {
            return merged(ctx, job, queue, commit, Some(&entry.candidate), workspace).map(Some);
        }
    }
    Ok(None)
}

/// Waits until the candidate is settled, as the head of the queue or as a follower.
fn turn(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    queue: &Queue,
    candidate: &Candidate,
    names: &[Name],
    signing: Option<&Signing>,
) -> Result<Settled, LegAbort> {
    let mut waiting = Waiting::new(queue);
    loop {
        let entry = ctx.store.queued(job.task.id())?;
        let planned = entry.as_ref().is_some_and(|entry| entry.planned.is_some());
        if let Some(settled) = entry.and_then(|entry| entry.settled) {
            return Ok(settled);
        }
        let candidacy = if planned { Candidacy::Planned } else { Candidacy::Open };
        match waiting.place(ctx, candidacy)? {
            Place::Head => lead(ctx, job, queue, candidate, names, signing)?,
            Place::Waits => {}
        }
    }
}

/// Leads the queue once: settles the waiting candidates that can be tested together with the leg's own.
fn lead(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    queue: &Queue,
    candidate: &Candidate,
    names: &[Name],
    signing: Option<&Signing>,
) -> Result<(), LegAbort> {
    let own = job.task.id();
    let most = job.definition.config.merge.batch as usize;
    let waiting = ctx.store.queue(queue)?;
    let fits = |entry: &acquit_core::delivery::queue::Entry| {
        entry.settled.is_none() && (entry.task() == own || entry.candidate.proof == candidate.proof)
    };
    let mut entries: Vec<_> = waiting.into_iter().filter(fits).collect();
    // Always include the leg's own candidate. Otherwise leading would never end.
    let position = entries.iter().position(|entry| entry.task() == own).unwrap_or(0);
    if position >= most {
        entries.swap(position, most - 1);
    }
    entries.truncate(most);
    let folder = ctx.runtime.task_folder(own).join("merging");
    remove_folder(&folder)?;
    let leg = ctx.hold.leg;
    let overlays = working_tree::overlays(ctx, job.definition.config.sandbox)?;
    let working_tree = Workspace::open(&folder, &job.source, ctx.runtime.git.clone(), ctx.runtime.store())?
        .with_overlays(overlays)
        .lock_within(&format!("acquit leg {leg}"), Duration::from_secs(10))?;
    working_tree.prepare(&leg.to_string(), &job.base, &job.task.seed.branch)?;
    let mut head =
        Head { job, queue: queue.clone(), gates: names.to_vec(), signing: signing.cloned(), working_tree };
    let done = head.merge(ctx, &entries);
    drop(head);
    remove_folder(&folder)?;
    done
}

/// Gates a stack of candidates in the head's own tree, compared with the current branch.
pub(crate) fn judge(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    base: &CommitId,
    top: &CommitId,
    names: &[Name],
    working_tree: &LockedWorkspace,
) -> Result<Vec<Failure>, LegAbort> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let job = Job { start: top.clone(), base: base.clone(), ..job.clone() };
    working_tree.prepare(&ctx.hold.leg.to_string(), top, &job.task.seed.branch)?;
    squash::judged(ctx, &job, names, working_tree)
}

/// Ends a leg whose work is merged.
fn merged(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    queue: &Queue,
    commit: &str,
    candidate: Option<&Candidate>,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    let id = commit.parse::<CommitId>().map_err(|error| LegAbort::harness(&error))?;
    ctx.notice(Level::Info, format!("merged into {} as {}", queue.branch, id.short()));
    guard::before_publishing(ctx, workspace, &job.base, &job.start)?;
    workspace.keep_merged(&job.start, &id)?;
    workspace.publish(&job.source, &job.task.seed.branch, &id)?;
    let mut job = job.clone();
    if let Some(candidate) = candidate {
        // Find its base there by going back by the number of its own commits.
        job.base = workspace.below(&id, &candidate.base, &candidate.commit)?;
    }
    let job = &job;
    let mut moved = squash::moved(job, id, Proof::Given);
    moved.artifacts.push(Artifact::Merged { branch: queue.branch.clone(), commit: commit.to_owned() });
    Ok(Done { moved: Some(moved), ..by_harness(outcome::DONE) })
}

/// Identifies how the candidate must be proven: the pinned gates and the setup. If a gate depends on the settings of a
/// single task, the identifier holds for that task only.
fn proof(job: &Job<'_>, names: &[Name], workspace: &LockedWorkspace) -> String {
    let gates: Vec<_> = names.iter().filter_map(|name| job.definition.workflow.gate(name.as_str())).collect();
    let own = gates.iter().any(|gate| gate.check.is_per_task());
    let task = own.then(|| job.task.id());
    let config = &job.definition.config;
    let all =
        serde_json::json!({ "gates": gates, "setup": config.setup, "network": config.network, "task": task });
    workspace.hash(all.to_string())
}
