//! Squashes the task's work into one commit, or a few, on its branch in the user's repository.
//!
//! First rebases onto the current base branch. Work on another commit than the one on which the gates passed is gated
//! again, so a stale base is never published as green.

use acquit_core::artifact::Artifact;
use acquit_core::config::{Committer, Sign};
use acquit_core::delivery::message::{Parts, message};
use acquit_core::delivery::style::{LOOKED_AT, Style};
use acquit_core::event::Level;
use acquit_core::failure::{Failure, kind};
use acquit_core::ids::Name;
use acquit_core::outcome;
use acquit_core::workflow::Commits;

use crate::gate;
use crate::git::{CommitId, Identity, Signing, User};
use crate::harness::work::{Done, Moved, Proof, by_harness};
use crate::harness::{guard, sync};
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{LockedWorkspace, Piece, Seal};

/// Creates the commits and publishes the branch.
pub(super) fn squash(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    let mut job = job.clone();
    let signing = signing(ctx, &job)?;
    let failures = prove(ctx, &mut job, signing.as_ref(), workspace)?;
    if !failures.is_empty() {
        return Ok(rejected(&job, failures));
    }
    let commit = deliver(ctx, &job, commits, signing.as_ref(), workspace)?;
    let moved = moved(&job, commit, Proof::Given);
    Ok(Done { moved: Some(moved), ..by_harness(outcome::DONE) })
}

/// Rebases the work onto its base branch and gates it there, unless that was already done. Returns what the gates
/// found.
fn prove(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    signing: Option<&Signing>,
    workspace: &LockedWorkspace,
) -> Result<Vec<Failure>, LegAbort> {
    if let Left::Nothing = follow(ctx, job, signing, workspace)? {
        let words = "there is no work to deliver: the base branch has all of it already".to_owned();
        return Err(LegAbort::failed(kind::NOTHING, words));
    }
    let names = gate_names(job);
    let proven = job.task.proven.as_deref() == Some(job.base.as_str());
    if names.is_empty() || (proven && job.stage.gates.is_empty()) {
        return Ok(Vec::new());
    }
    ctx.notice(Level::Info, format!("the gates are run again, on {}", job.base.short()));
    workspace.prepare(&ctx.hold.leg.to_string(), &job.start, &job.task.seed.branch)?;
    judged(ctx, job, &names, workspace)
}

/// Whether there is work left to deliver.
pub(super) enum Left {
    /// There is work.
    Work,
    /// The base branch already has all of it.
    Nothing,
}

/// Rebases the work onto its base branch. A conflict ends the leg.
pub(super) fn follow(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    signing: Option<&Signing>,
    workspace: &LockedWorkspace,
) -> Result<Left, LegAbort> {
    if job.start == job.base {
        return Err(LegAbort::failed(kind::NOTHING, "there is no work to deliver".to_owned()));
    }
    // Only delivered commits are signed.
    let signing = signing.filter(|_| is_delivered(job));
    if let Some((onto, conflict)) = sync::follow(ctx, job, workspace, signing)? {
        return Err(LegAbort::Leg(sync::ending(job, &onto, conflict)));
    }
    Ok(if job.start == job.base { Left::Nothing } else { Left::Work })
}

/// Returns the gates that prove the work before delivery: those of this stage, or else of the last stage that has any.
pub(super) fn gate_names(job: &Job<'_>) -> Vec<Name> {
    if !job.stage.gates.is_empty() {
        return job.stage.gates.clone();
    }
    let gates = job.task.last_gated(&job.definition.workflow).map(|stage| stage.gates.as_slice());
    // The findings of an agent's review cannot be checked again without the agent.
    let repeats = |name: &&Name| {
        let gate = job.definition.workflow.gate(name.as_str());
        gate.is_none_or(|gate| gate.check.sets_outcome().is_none())
    };
    gates.unwrap_or_default().iter().filter(repeats).cloned().collect()
}

/// Runs the gates and returns what they found.
pub(super) fn judged(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    names: &[Name],
    workspace: &LockedWorkspace,
) -> Result<Vec<Failure>, LegAbort> {
    Ok(gate::run_all(ctx, job, names, workspace, &by_harness(outcome::DONE).outcome)?.failures)
}

/// Ends an action whose gates failed. The work stays on its new base.
pub(super) fn rejected(job: &Job<'_>, failures: Vec<Failure>) -> Done {
    let moved = Moved {
        tip: job.start.clone(),
        base: job.base.clone(),
        proof: Proof::Missing,
        artifacts: Vec::new(),
    };
    Done { moved: Some(moved), failures, ..by_harness(outcome::DONE) }
}

/// Creates the commits and publishes them to the task's branch, with the history they came from.
pub(super) fn deliver(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    commits: Commits,
    signing: Option<&Signing>,
    workspace: &LockedWorkspace,
) -> Result<CommitId, LegAbort> {
    let seed = &job.task.seed;
    if let Some(known) = published(job) {
        if known == job.start {
            return Ok(known);
        }
        // Another workspace may have published it.
        workspace.remember(&seed.branch, &known)?;
    }
    guard::before_publishing(ctx, workspace, &job.base, &job.start)?;
    if is_delivered(job) {
        // Already in its final form, only rebased.
        workspace.publish(&job.source, &seed.branch, &job.start)?;
        return Ok(job.start.clone());
    }
    let author = Identity::new(&job.definition.author.name, &job.definition.author.email);
    let pieces = pieces(ctx, job, commits, workspace)?;
    let commit = workspace.deliver(
        &job.base,
        &pieces,
        &Seal { author: &author, committer: &committer(job, &author), signing },
    )?;
    let leg = format!("leg-{}", ctx.hold.leg.number);
    workspace.keep_history(&seed.id.to_string(), &leg, &job.start)?;
    workspace.publish(&job.source, &seed.branch, &commit)?;
    ctx.notice(Level::Info, format!("branch {} is at {}", seed.branch, commit.short()));
    Ok(commit)
}

/// Returns the committer of delivered commits.
pub(crate) fn committer(job: &Job<'_>, author: &Identity) -> Identity {
    match job.definition.config.commit.committer {
        Committer::Acquit => Identity::neutral(),
        Committer::Author => author.clone(),
    }
}

/// Returns whether the task's current work is the delivered work, possibly on another base.
fn is_delivered(job: &Job<'_>) -> bool {
    published(job).is_some_and(|commit| commit.as_str() == job.task.tip)
}

/// Returns the commit to which acquit published the task's branch.
fn published(job: &Job<'_>) -> Option<CommitId> {
    job.task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Branch { commit, published: true, .. } => commit.parse().ok(),
        _ => None,
    })
}

/// Returns the result for delivered work.
pub(super) fn moved(job: &Job<'_>, commit: CommitId, proof: Proof) -> Moved {
    let name = job.task.seed.branch.clone();
    let branch = Artifact::Branch { name, commit: commit.to_string(), published: true };
    Moved { tip: commit, base: job.base.clone(), proof, artifacts: vec![branch] }
}

/// Returns how the user's git signs commits, unless the project disables signatures.
pub(super) fn signing(ctx: &LegContext<'_>, job: &Job<'_>) -> Result<Option<Signing>, LegAbort> {
    match job.definition.config.commit.sign {
        Sign::Never => Ok(None),
        Sign::Auto => {
            let user = User::new(|name| ctx.runtime.environment.get(name).map(ToOwned::to_owned));
            job.source.signing(&ctx.runtime.git, &user).map_err(|error| LegAbort::harness(&error))
        }
    }
}

/// Splits the work into pieces, each with its message.
fn pieces(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Vec<Piece>, LegAbort> {
    let subjects = job
        .source
        .subjects(&ctx.runtime.git, &job.base, LOOKED_AT)
        .map_err(|error| LegAbort::harness(&error))?;
    let seen = Style::of(subjects.iter().map(String::as_str));
    // Redact before building the message: shortening would make secrets unrecognizable.
    let task = ctx.clean(job.task)?;
    let text = |changes: &[String], phase: Option<&str>| {
        let settings = &job.definition.config.commit;
        let parts = Parts { task: &task, settings, seen: &seen, changes, phase };
        let text = message(&parts).map_err(|error| LegAbort::harness(&error))?;
        Ok::<_, LegAbort>(ctx.redactor.text(&text))
    };
    let whole = || {
        let message = text(&task.account(), None)?;
        Ok(vec![Piece { tip: job.start.clone(), message }])
    };
    if commits == Commits::One {
        return whole();
    }
    let phases = workspace.phases(&job.base, &job.start, &by_stage(job))?;
    if phases.len() < 2 {
        return whole();
    }
    let mut pieces = Vec::new();
    for (stage, tip) in phases {
        let of_stage =
            |learning: &&String| learning.strip_prefix(&stage).is_some_and(|rest| rest.starts_with(": "));
        let changes: Vec<String> =
            task.account().into_iter().filter(|learning| of_stage(&learning)).collect();
        pieces.push(Piece { tip, message: text(&changes, Some(&stage))? });
    }
    Ok(pieces)
}

/// Returns the commits of each leg by the stage that it worked for. A fix belongs to the stage that it fixes.
fn by_stage(job: &Job<'_>) -> Vec<(String, Vec<CommitId>)> {
    use acquit_core::leg::Purpose;
    let stage = |number: u32| {
        let past = job.task.past.iter().find(|past| past.number == number)?;
        Some(match &past.entry.purpose {
            Purpose::Fix { of, .. } => of.to_string(),
            Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge => {
                past.entry.stage.to_string()
            }
        })
    };
    let commits = |artifact: &Artifact| match artifact {
        Artifact::Commits { leg, commits } => {
            let ids = commits.iter().filter_map(|commit| commit.id.parse().ok()).collect();
            Some((stage(*leg)?, ids))
        }
        _ => None,
    };
    job.task.artifacts.iter().filter_map(commits).collect()
}
