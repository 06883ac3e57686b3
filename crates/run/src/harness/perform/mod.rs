//! What the harness does itself: the setup of a workspace, and the action stages.

use acquit_core::workflow::{Action, Commits};

use super::LegAbort;
use super::context::LegContext;
use super::work::{Done, Job};
use crate::workspace::LockedWorkspace;

mod by_forge;
mod merge;
mod outgoing;
mod publish;
mod setup;
mod squash;
mod waiting;

pub(crate) use merge::judge;
pub(crate) use setup::setup_aside;
pub(super) use setup::{layer, setup_in_place};
pub(crate) use squash::committer;

/// Performs an action stage. Each is idempotent: done again after a crash, it finds its effect and changes nothing.
pub(super) fn action(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    action: &Action,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    match action {
        Action::Squash => squash::squash(ctx, job, commits, workspace),
        Action::Publish(settings) => publish::perform(ctx, job, settings, commits, workspace),
        Action::Merge => merge::merge(ctx, job, commits, workspace),
    }
}
