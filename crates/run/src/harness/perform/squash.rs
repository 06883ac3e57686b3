//! One commit of all the task's work, or a few, on its branch in the user's repository.
//!
//! Before anything else the base branch is followed. Work that stands on another commit than the one on which gates found it good
//! is gated again: a stale base is never published as green.

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

/// Makes it, and brings it there.
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

/// Brings the work onto its base branch, and has it gated there unless that was done already. Gives what the gates found.
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
    /// There is.
    Work,
    /// The base branch has all of it already.
    Nothing,
}

/// Brings the work onto its base branch; a conflict ends the leg.
pub(super) fn follow(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
    signing: Option<&Signing>,
    workspace: &LockedWorkspace,
) -> Result<Left, LegAbort> {
    if job.start == job.base {
        return Err(LegAbort::failed(kind::NOTHING, "there is no work to deliver".to_owned()));
    }
    // Only what is delivered is signed.
    let signing = signing.filter(|_| is_delivered(job));
    if let Some((onto, conflict)) = sync::follow(ctx, job, workspace, signing)? {
        return Err(LegAbort::Leg(sync::ending(job, &onto, conflict)));
    }
    Ok(if job.start == job.base { Left::Nothing } else { Left::Work })
}

/// The gates by which the work is proven before it is delivered: those of this stage, else of the last stage that has some.
pub(super) fn gate_names(job: &Job<'_>) -> Vec<Name> {
    if !job.stage.gates.is_empty() {
        return job.stage.gates.clone();
    }
    let gates = job.task.last_gated(&job.definition.workflow).map(|stage| stage.gates.as_slice());
    // What an agent found in a review is no property of the work that could be looked at again.
    let repeats = |name: &&Name| {
        let gate = job.definition.workflow.gate(name.as_str());
        gate.is_none_or(|gate| gate.check.sets_outcome().is_none())
    };
    gates.unwrap_or_default().iter().filter(repeats).cloned().collect()
}

/// Runs them, and gives what they found.
pub(super) fn judged(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    names: &[Name],
    workspace: &LockedWorkspace,
) -> Result<Vec<Failure>, LegAbort> {
    Ok(gate::run_all(ctx, job, names, workspace, &by_harness(outcome::DONE).outcome)?.failures)
}

/// The end of an action whose gates said no. The work stands where it was brought.
pub(super) fn rejected(job: &Job<'_>, failures: Vec<Failure>) -> Done {
    let moved = Moved {
        tip: job.start.clone(),
        base: job.base.clone(),
        proof: Proof::Missing,
        artifacts: Vec::new(),
    };
    Done { moved: Some(moved), failures, ..by_harness(outcome::DONE) }
}

/// Makes the commits and brings them to the task's branch, with the history that they came from.
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
        // The workspace may be another than the one that published it.
        workspace.remember(&seed.branch, &known)?;
    }
    guard::before_publishing(ctx, workspace, &job.base, &job.start)?;
    if is_delivered(job) {
        // It has its form already, and only stands elsewhere.
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

/// Whom delivered commits name as their committer.
pub(crate) fn committer(job: &Job<'_>, author: &Identity) -> Identity {
    match job.definition.config.commit.committer {
        Committer::Acquit => Identity::neutral(),
        Committer::Author => author.clone(),
    }
}

/// Whether the task's work was delivered as it is, be it on another base.
fn is_delivered(job: &Job<'_>) -> bool {
    published(job).is_some_and(|commit| commit.as_str() == job.task.tip)
}

/// Where the task's branch is in the user's repository, by our own doing.
fn published(job: &Job<'_>) -> Option<CommitId> {
    job.task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Branch { commit, published: true, .. } => commit.parse().ok(),
        _ => None,
    })
}

/// Where delivered work stands.
pub(super) fn moved(job: &Job<'_>, commit: CommitId, proof: Proof) -> Moved {
    let name = job.task.seed.branch.clone();
    let branch = Artifact::Branch { name, commit: commit.to_string(), published: true };
    Moved { tip: commit, base: job.base.clone(), proof, artifacts: vec![branch] }
}

/// How the user's own git signs here, unless the project wants no signatures.
pub(super) fn signing(ctx: &LegContext<'_>, job: &Job<'_>) -> Result<Option<Signing>, LegAbort> {
    match job.definition.config.commit.sign {
        Sign::Never => Ok(None),
        Sign::Auto => {
            let user = User::new(|name| ctx.runtime.environment.get(name).map(ToOwned::to_owned));
            job.source.signing(&ctx.runtime.git, &user).map_err(|error| LegAbort::harness(&error))
        }
    }
}

/// The parts of the work, each with its message.
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
    // Before the message is made: what is shortened is not recognised afterwards.
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

/// The commits of each leg, under the name of the stage that it worked for: a fix belongs to what it mended.
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
