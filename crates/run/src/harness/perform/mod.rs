//! What the harness does itself: the setup of a workspace, and the action stages.

use acquit_core::workflow::{Action, Commits};

use super::Trouble;
use super::desk::Desk;
use super::work::{Done, Job};
use crate::workspace::Locked;

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
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    action: &Action,
    commits: Commits,
    workspace: &Locked,
) -> Result<Done, Trouble> {
    match action {
        Action::Squash => squash::squash(desk, job, commits, workspace),
        Action::Publish(settings) => publish::perform(desk, job, settings, commits, workspace),
        Action::Merge => merge::merge(desk, job, commits, workspace),
    }
}
