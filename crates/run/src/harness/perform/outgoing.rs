//! Prepares work for a forge: proves it on the forge's current base branch, then pushes it with a lease.
//!
//! *Never publishes a stale base as green.* The base branch is fetched, and the work is rebased onto it and gated
//! there. Right before the push, the forge's base branch is checked again. If it moved in the meantime, everything is
//! repeated.

use acquit_core::artifact::Artifact;
use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::Pulse;
use acquit_core::time::Span;
use acquit_core::workflow::Commits;

use super::super::guard;
use super::super::work::Done;
use super::publish::{away, trouble};
use crate::forge::{self, Forge, Place, Token};
use crate::git::CommitId;
use crate::leg::upstream::{Missed, Upstream};
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{LockedWorkspace, Sent};

/// Maximum number of rebases onto a base branch that moves at the forge while the gates run, before the leg lets
/// others go first.
pub(super) const ROUNDS: u32 = 5;
/// Duration of the leg's wait then.
const AWAY: Span = Span::mins(1);
/// Number of commits to remember as pushed by the task.
const PUSHED: usize = 50;

/// Destination of the work, with the token for it.
pub(super) struct Destination<'u> {
    pub(super) upstream: &'u Upstream,
    pub(super) place: &'u Place,
    pub(super) token: &'u Token,
}

/// Finds the destination. `None` if there is no token for it.
pub(super) fn destination<'u>(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    upstream: &'u Upstream,
) -> Result<Option<Destination<'u>>, LegAbort> {
    let place = &upstream.place;
    let token = upstream.token(ctx, job).map_err(|error| trouble(ctx, job, place, None, error))?;
    Ok(token.map(|token| Destination { upstream, place, token }))
}

impl<'u> Destination<'u> {
    /// Opens the API of the forge.
    pub(super) fn open<'w, 'd: 'w>(
        &self,
        ctx: &LegContext<'d>,
        job: &Job<'_>,
    ) -> Result<Box<dyn Forge + 'w>, LegAbort>
    where
        'u: 'w,
    {
        let settings = &job.definition.config.forge;
        forge::open(ctx.runtime, settings, self.place, Some(self.token))
            .map_err(|error| self.trouble(ctx, job, error))
    }

    /// Converts a forge error into the end of the leg.
    pub(super) fn trouble(&self, ctx: &LegContext<'_>, job: &Job<'_>, error: forge::Error) -> LegAbort {
        trouble(ctx, job, self.place, Some(self.token), error)
    }
}

/// Result of proving work that is to be pushed.
pub(super) enum Stands<'j> {
    /// The work is proven on the forge's current base branch.
    Proven {
        /// The job of the leg, updated to the new base.
        job: Box<Job<'j>>,
        /// The commit to push.
        commit: CommitId,
        /// The task's branch in the user's repository.
        branch: Box<Artifact>,
    },
    /// The gates rejected the work on the current base branch.
    Rejected(Box<Done>),
    /// The base branch moved while the gates ran.
    Stale,
}

/// Rebases the work onto the forge's current base branch and gates it there.
pub(super) fn stand<'j>(
    ctx: &mut LegContext<'_>,
    job: &Job<'j>,
    to: &Destination<'_>,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Stands<'j>, LegAbort> {
    beat(ctx)?;
    look(ctx, job, to, workspace)?;
    let (job, delivered) = squashed(ctx, job, commits, workspace)?;
    let (commit, branch) = match delivered {
        Delivered::As(commit, branch) => (commit, branch),
        Delivered::Not(rejected) => return Ok(Stands::Rejected(rejected)),
    };
    guard::before_publishing(ctx, workspace, &job.base(), &commit)?;
    beat(ctx)?;
    let Some(base) = &job.task.seed.base.branch else { return Err(unnamed()) };
    let way = to.upstream.way(ctx, &job, &to.place.upstream, Some(to.token));
    let there = workspace.branch_at(&way, base);
    // The commits below the work are pushed with it, so the forge must already have them.
    match there.map_err(|error| away(ctx, &job, to.place, to.token, error))? {
        Some(there) if there == job.base => Ok(Stands::Proven { job: Box::new(job), commit, branch }),
        Some(there) => {
            let words = format!("{base} has moved to {} at the forge meanwhile", there.short());
            ctx.notice(Level::Info, words);
            Ok(Stands::Stale)
        }
        None => Err(LegAbort::failed(
            kind::DELIVERY,
            format!(
                "the forge has no branch {base} to merge the work into; push it, or name another as `base`"
            ),
        )),
    }
}

/// Fetches the base branch from the forge. The forge must answer.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    to: &Destination<'_>,
    workspace: &LockedWorkspace,
) -> Result<(), LegAbort> {
    to.upstream.look(ctx, job, workspace).map_err(|missed| match missed {
        Missed::Forge(error) => to.trouble(ctx, job, error),
        Missed::Git { source, .. } => away(ctx, job, to.place, to.token, source),
    })
}

/// Ends a leg whose base branch kept moving while the gates ran.
pub(super) fn overtaken(job: &Job<'_>) -> LegAbort {
    let branch = job.task.seed.base.branch.as_deref().unwrap_or("the base branch");
    let reason = format!("{branch} moved at the forge each time while the gates ran");
    LegAbort::Leg(Ending::Held { kind: Name::literal(kind::CONFLICT), wait: AWAY, reason })
}

/// Reason for a task whose work cannot be delivered to any branch.
pub(super) const UNNAMED: &str = "the task began at a commit and not at a branch, so there is nothing to merge its work into; \
    set `base` in acquit.toml, or take the branch from your repository";

pub(super) fn unnamed() -> LegAbort {
    LegAbort::failed(kind::DELIVERY, UNNAMED.to_owned())
}

/// Renews the lease, and ends the leg if a person cancelled it.
pub(super) fn beat(ctx: &mut LegContext<'_>) -> Result<(), LegAbort> {
    match ctx.pulse()? {
        Pulse::Beating => Ok(()),
        Pulse::Cancel => Err(LegAbort::Leg(Ending::Cancelled)),
    }
}

/// Result of preparing the work for delivery.
pub(super) enum Delivered {
    /// This commit, on the task's branch.
    As(CommitId, Box<Artifact>),
    /// Nothing: the gates rejected the work on the current base branch.
    Not(Box<Done>),
}

/// Squashes the work on the current base branch and proves it there. Returns the result with the updated job.
pub(super) fn squashed<'j>(
    ctx: &mut LegContext<'_>,
    job: &Job<'j>,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<(Job<'j>, Delivered), LegAbort> {
    // A new workspace does not know that the branch is the task's own.
    for artifact in &job.task.artifacts {
        if let Artifact::Pushed { branch, commits, .. } = artifact {
            for commit in commits.iter().filter_map(|commit| commit.parse().ok()) {
                workspace.remember_own(branch, &commit)?;
            }
        }
    }
    let mut job = job.clone();
    let Done { moved, failures, .. } = super::squash::squash(ctx, &job, commits, workspace)?;
    let nothing = || LegAbort::failed(kind::NOTHING, "there is no work to deliver".to_owned());
    let moved = moved.ok_or_else(nothing)?;
    (job.start, job.base) = (moved.tip.clone(), moved.base.clone());
    if !failures.is_empty() {
        let rejected = super::squash::rejected(&job, failures);
        return Ok((job, Delivered::Not(Box::new(rejected))));
    }
    let branch = moved.artifacts.into_iter().find(|artifact| matches!(artifact, Artifact::Branch { .. }));
    Ok((job, Delivered::As(moved.tip, Box::new(branch.ok_or_else(nothing)?))))
}

/// Pushes the branch to the remote, unless it has someone else's work. Returns the remote base branch if it moved at
/// this very moment; the pull request mentions that.
pub(super) fn push(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    to: &Destination<'_>,
    commit: &CommitId,
) -> Result<Option<CommitId>, LegAbort> {
    let (place, token) = (to.place, to.token);
    let branch = &job.task.seed.branch;
    let mut pushed = pushed_before(job, place, branch);
    let known: Vec<CommitId> = pushed.iter().filter_map(|commit| commit.parse().ok()).collect();
    let way = to.upstream.way(ctx, job, &place.push, Some(token));
    crate::fault::point("forge", &ctx.runtime.environment);
    let sent = workspace.send(&way, branch, commit, &known);
    crate::fault::point("forge", &ctx.runtime.environment);
    let person = |words: String| LegAbort::failed(kind::DELIVERY, words);
    match sent.map_err(|error| away(ctx, job, place, token, error))? {
        Sent::There => {}
        Sent::Foreign { found } => {
            let at = found.map_or_else(|| "something else".to_owned(), |found| found.short().to_owned());
            return Err(person(format!(
                "somebody else moved the branch {branch} of {}: it is at {at}, which acquit did not push. Nothing was \
                 overwritten. Take what is there into account, or remove the branch at the forge, and let the task go on",
                place.push.url
            )));
        }
        Sent::Refused(words) => {
            return Err(person(format!(
                "the forge does not accept the branch {branch} at {}: {}. The token ({}) must be allowed to push it, and no \
                 rule of the project may protect it",
                place.push.url,
                ctx.redactor.text(&words),
                token.origin
            )));
        }
    }
    pushed.retain(|known| *known != commit.to_string());
    pushed.push(commit.to_string());
    let surplus = pushed.len().saturating_sub(PUSHED);
    pushed.drain(..surplus);
    let remote = place.push.url.clone();
    ctx.left = vec![Artifact::Pushed { remote, branch: branch.clone(), commits: pushed }];
    let Some(base) = &job.task.seed.base.branch else { return Ok(None) };
    // Best effort: the person who merges sees it at the forge as well.
    let way = to.upstream.way(ctx, job, &place.upstream, Some(token));
    let moved = workspace.branch_at(&way, base).ok().flatten().filter(|there| *there != job.base);
    if let Some(moved) = &moved {
        let words = format!(
            "{base} is at {} at the forge, and the gates saw the work on {}",
            moved.short(),
            job.base.short()
        );
        ctx.notice(Level::Warning, words);
    }
    Ok(moved)
}

/// Returns the commits that the task pushed to this branch before.
pub(super) fn pushed_before(job: &Job<'_>, place: &Place, branch: &str) -> Vec<String> {
    let found = job.task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Pushed { remote, branch: to, commits } if *remote == place.push.url && to == branch => {
            Some(commits.clone())
        }
        _ => None,
    });
    found.unwrap_or_default()
}
