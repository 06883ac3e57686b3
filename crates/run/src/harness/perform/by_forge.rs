//! Merges the task's work into its base branch through the forge of the repository.
//!
//! One pull request at a time. A forge's merge becomes a state of the branch. So each candidate, as the head of the
//! queue, is rebased onto the forge's current base branch, gated there alone and pushed to the branch of its pull
//! request. The merge call names the commit that the forge may merge, so it merges exactly what was proven.
//!
//! *Never merges twice.* The store records a merge before it happens. After a crash, the next leg asks the forge for a
//! pull request that was merged at a commit which the task pushed. If a rule of the forge waits for checks, the leg
//! waits too; if it waits for people, a person is asked.

use acquit_core::artifact::{Artifact, Requested};
use acquit_core::config::Publishing;
use acquit_core::delivery::queue::{Candidate, Place as Rank, Queue, Settled};
use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::leg::Ending;
use acquit_core::outcome;
use acquit_core::workflow::Commits;

use super::outgoing::{
    Destination, ROUNDS, Stands, beat, destination, overtaken, push, pushed_before, squashed, stand,
};
use super::publish::{held, known, no_token, request};
use super::waiting::{Candidacy, Waiting, enter};
use crate::fault;
use crate::forge::merge::{Answer, Order, Past, merge as order_merge};
use crate::git::CommitId;
use crate::harness::work::{Done, Moved, Proof, by_harness};
use crate::leg::upstream::Upstream;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::LockedWorkspace;

/// Merges the work of the task.
pub(super) fn merge(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    commits: Commits,
    workspace: &LockedWorkspace,
    upstream: &Upstream,
    queue: &Queue,
) -> Result<Done, LegAbort> {
    let Some(to) = destination(ctx, job, upstream)? else {
        // Publish the branch locally before a person is asked.
        squashed(ctx, job, commits, workspace)?;
        return Err(LegAbort::failed(kind::DELIVERY, no_token(&upstream.place)));
    };
    if let Some(done) = found(ctx, job, &to, queue, workspace)? {
        return Ok(done);
    }
    let known = known(ctx, job, &to)?;
    let mut rank = Rank::Waits;
    for _ in 0..=ROUNDS {
        // Gate once before becoming the head, so that work which fails or conflicts does not delay others.
        let (stood, commit, branch) = match stand(ctx, job, &to, commits, workspace) {
            Ok(Stands::Proven { job, commit, branch }) => (job, commit, branch),
            Ok(Stands::Rejected(done)) => {
                ctx.store.leave_queue(ctx.hold, queue)?;
                return Ok(*done);
            }
            Ok(Stands::Stale) => continue,
            Err(trouble) => {
                if let LegAbort::Leg(Ending::Conflict { .. }) = &trouble {
                    ctx.store.leave_queue(ctx.hold, queue)?;
                }
                return Err(trouble);
            }
        };
        enter(ctx, queue, &candidate(&stood, &commit))?;
        if rank == Rank::Waits {
            let mut waiting = Waiting::new(queue);
            while rank == Rank::Waits {
                rank = waiting.place(ctx, Candidacy::Open)?;
            }
            // Other work may have been merged in the meantime. If not, nothing is gated again.
            continue;
        }
        push(ctx, &stood, workspace, &to, &commit)?;
        beat(ctx)?;
        let settings = Publishing { draft: Some(false), ..job.definition.config.forge.request.clone() };
        let published = request(ctx, &stood, &settings, &to, *branch, known, None)?;
        if let Some(done) = order(ctx, &stood, &to, queue, published, workspace)? {
            return Ok(done);
        }
    }
    Err(overtaken(job))
}

/// Returns the queue entry for a commit.
fn candidate(job: &Job<'_>, commit: &CommitId) -> Candidate {
    Candidate {
        commit: commit.to_string(),
        base: job.base().to_string(),
        // Never tested together with other candidates.
        proof: format!("alone: {}", job.task.id()),
    }
}

/// Makes the forge merge the published pull request. `None` if it no longer applies to the base branch.
fn order(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    to: &Destination<'_>,
    queue: &Queue,
    published: Done,
    workspace: &LockedWorkspace,
) -> Result<Option<Done>, LegAbort> {
    let Some(moved) = published.moved else { return Ok(None) };
    let request = moved.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::PullRequest(request) => Some(request.clone()),
        _ => None,
    });
    let Some(request) = request else { return Ok(None) };
    // The pull request exists, however this ends.
    ctx.left.clone_from(&moved.artifacts);
    let message = workspace.commits(&job.base, &moved.tip)?.into_iter().next().map(|commit| commit.message);
    let message = message.unwrap_or_default();
    let (title, rest) = message.split_once('\n').unwrap_or((&message, ""));
    let asked = Order {
        number: request.number,
        commit: moved.tip.as_str(),
        method: job.definition.config.merge.method,
        title: title.trim(),
        message: rest.trim(),
    };
    ctx.flush()?;
    let planned = [(job.task.id(), moved.tip.to_string())];
    ctx.store.plan_merges(ctx.hold, queue, &planned)?;
    fault::point("merge-planned", &ctx.runtime.environment);
    let answer =
        order_merge(to.open(ctx, job)?.as_ref(), &asked).map_err(|error| to.trouble(ctx, job, error))?;
    fault::point("merge-moved", &ctx.runtime.environment);
    let name = to.place.kind.name();
    match answer {
        Answer::Merged(commit) => {
            let settled = [(job.task.id(), Settled::Merged { commit: commit.clone() })];
            ctx.store.settle_merges(ctx.hold, queue, &settled)?;
            fault::point("merge-settled", &ctx.runtime.environment);
            ctx.left.clear();
            Ok(Some(ended(ctx, job, to, queue, workspace, moved, &commit)))
        }
        Answer::Behind(words) => {
            ctx.notice(Level::Info, format!("{name} does not merge {} as it is: {words}", request.url));
            Ok(None)
        }
        Answer::NotYet(words) => {
            ctx.store.leave_queue(ctx.hold, queue)?;
            Err(held(job, None, format!("{name} does not merge {} yet: {words}", request.url)))
        }
        Answer::Moved => {
            ctx.store.leave_queue(ctx.hold, queue)?;
            let words = format!("somebody else pushed to the branch of {}: nothing was merged", request.url);
            Err(person(job, &words))
        }
        Answer::Missing(words) => {
            ctx.store.leave_queue(ctx.hold, queue)?;
            Err(person(job, &format!("{name} does not merge {}: {words}", request.url)))
        }
    }
}

fn person(job: &Job<'_>, words: &str) -> LegAbort {
    let how = format!("Once that is put right, `acquit task answer {} --approve` goes on", job.task.id());
    LegAbort::failed(kind::DELIVERY, format!("{words}. {how}"))
}

/// Finds work that an earlier leg of the task, a person or the forge itself already merged.
fn found(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    to: &Destination<'_>,
    queue: &Queue,
    workspace: &LockedWorkspace,
) -> Result<Option<Done>, LegAbort> {
    let branch = &job.task.seed.branch;
    let entry = ctx.store.queued(job.task.id())?;
    let mut known = pushed_before(job, to.place, branch);
    known.extend(entry.as_ref().and_then(|entry| entry.planned.clone()));
    if known.is_empty() {
        return Ok(None);
    }
    let past = to.open(ctx, job)?.merged(branch, &queue.branch);
    let past = past.map_err(|error| to.trouble(ctx, job, error))?;
    // Merges that the task has already recorded belong to earlier work, not to this one.
    let Some(past) = unrecorded(past, &known, |commit| job.task.was_merged_as(commit)) else {
        return Ok(None);
    };
    let tip = past.head.parse::<CommitId>().map_err(|error| LegAbort::harness(&error))?;
    let base = entry.filter(|entry| entry.candidate.commit == past.head).map(|entry| entry.candidate.base);
    let base = base.and_then(|base| base.parse().ok()).unwrap_or_else(|| job.base());
    let before = job.task.request();
    let artifacts = vec![
        Artifact::Branch { name: branch.clone(), commit: past.head.clone(), published: true },
        Artifact::PullRequest(Requested {
            url: past.url,
            number: past.number,
            project: to.place.project.clone(),
            commit: past.head,
            draft: before.and_then(|request| request.draft),
            answered: before.map(|request| request.answered.clone()).unwrap_or_default(),
        }),
    ];
    let moved = Moved { tip, base, proof: Proof::Given, artifacts };
    Ok(Some(ended(ctx, job, to, queue, workspace, moved, &past.commit)))
}

/// Returns the merge of this work: at a commit that the task pushed, and not recorded as merged before.
fn unrecorded(past: Vec<Past>, pushed: &[String], recorded: impl Fn(&str) -> bool) -> Option<Past> {
    past.into_iter().find(|past| pushed.contains(&past.head) && !recorded(&past.commit))
}

/// Ends a leg whose work is merged. Fetches the base branch, so that its new state is known locally.
fn ended(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    to: &Destination<'_>,
    queue: &Queue,
    workspace: &LockedWorkspace,
    mut moved: Moved,
    commit: &str,
) -> Done {
    let (branch, short) = (&queue.branch, &commit[..commit.len().min(12)]);
    ctx.notice(Level::Info, format!("merged into {branch} by {} as {short}", to.place.kind.name()));
    // Best effort: it is merged, whether or not we can fetch it.
    if let Err(missed) = to.upstream.look(ctx, job, workspace) {
        ctx.notice(Level::Warning, missed.to_string());
    } else if let Ok(merged) = commit.parse::<CommitId>()
        && !job.source.is_same(&ctx.runtime.git, &merged, &moved.tip).unwrap_or(true)
    {
        let words = format!(
            "somebody else's work went into {branch} in the same moment: what it is now was gated by nobody as a whole"
        );
        ctx.notice(Level::Warning, words);
    }
    moved.artifacts.push(Artifact::Merged { branch: branch.clone(), commit: commit.to_owned() });
    Done { moved: Some(moved), ..by_harness(outcome::DONE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_task_pushed_and_has_not_recorded_is_its_work_that_was_merged() {
        let past = |number: u64, head: &str, commit: &str| Past {
            number,
            url: "https://forge/1".to_owned(),
            head: head.to_owned(),
            commit: commit.to_owned(),
        };
        let all = || vec![past(1, "of-others", "a"), past(2, "old", "recorded"), past(3, "new", "b")];
        let pushed = ["old".to_owned(), "new".to_owned()];
        let number = |pushed: &[String]| {
            unrecorded(all(), pushed, |commit| commit == "recorded").map(|past| past.number)
        };
        assert_eq!(number(&pushed), Some(3));
        assert_eq!(number(&pushed[..1]), None, "it was merged before");
        assert_eq!(number(&[]), None, "nothing of it is the task's");
    }
}
