//! The base branch at a plain git server: at a host of which nobody knows what forge it is, if it is one.
//!
//! Nothing is delivered there: what a workflow would publish ends on a branch of the user's repository, and it is for people to bring it
//! further. But they will bring it to what others see, and the user may not have fetched that for a while. So the branch is looked at before
//! a leg, with the hardened fetch, the limits and the private ref of a forge's ([`super::upstream`]), and counts where it has all that the user's
//! own branch has. A server that does not answer is worth a warning, and the leg goes on with what is known.

use std::path::PathBuf;
use std::rc::Rc;

use acquit_core::config::forge::Kind;
use acquit_core::event::Level;
use acquit_core::leg::Purpose;
use acquit_core::workflow::{Action, Work};

use super::{Job, LegContext};
use crate::forge::{self, Address, Transport};
use crate::git::{self, CommitId, Git, PushFailure, PushWay};
use crate::workspace::{self, LockedWorkspace};

/// The server that a repository was cloned from.
pub(crate) struct Server {
    address: Address,
    /// Certificates to trust.
    ca: Option<PathBuf>,
}

impl Server {
    /// The server of the leg's task, if what is at its branch counts: the workflow publishes, and merges nothing by itself into the
    /// user's own branch.
    pub(crate) fn of(ctx: &LegContext<'_>, job: &Job<'_>) -> Option<Rc<Self>> {
        let is = |wanted: fn(&Action) -> bool| {
            job.definition.workflow.stages.iter().any(|stage| match &stage.work {
                Work::Action { action, .. } => wanted(action),
                Work::Agent(_) | Work::Check | Work::Human { .. } => false,
            })
        };
        let publishes = is(|action| matches!(action, Action::Publish(_)));
        let merges = is(|action| matches!(action, Action::Merge));
        let by_hand = job.entry.purpose == Purpose::Merge;
        if !publishes || merges || by_hand || job.upstream.is_some() || job.task.seed.base.branch.is_none() {
            return None;
        }
        let settings = &job.definition.config.forge;
        let address = forge::server(ctx.runtime, settings, &job.source)?;
        let ca = forge::ca(ctx.runtime, settings);
        Some(Rc::new(Self { address, ca }))
    }

    /// Looks where the base branch is there. If nobody can tell, the leg goes on, and its log says why.
    pub(crate) fn look(&self, ctx: &mut LegContext<'_>, job: &Job<'_>, workspace: &LockedWorkspace) {
        let Some(branch) = &job.task.seed.base.branch else { return };
        // Tokens are for forges: this host is known by nothing but an address.
        let access = forge::access(ctx.runtime, Kind::None, self.address.transport, None);
        let proxy = job.definition.config.forge.proxy.as_deref();
        let way = PushWay { url: &self.address.url, access, ca: self.ca.as_deref(), proxy };
        let Err(error) = workspace.fetch_base(&job.source, &way, branch, &job.base) else { return };
        let words = ctx.redactor.text(&super::chain(&error));
        let (level, hint) = match (trouble(&error), self.address.transport) {
            // So it is every time, and no surprise.
            (Some(PushFailure::Login), Transport::Https | Transport::Http) => {
                (Level::Info, "acquit has no login there: fetch yourself, or use an address of SSH")
            }
            (Some(PushFailure::Login), Transport::Ssh) => {
                (Level::Warning, "The key of SSH must be loaded; try `git fetch` in a terminal")
            }
            (Some(trouble), _) => (Level::Warning, trouble.hint().unwrap_or_default()),
            (None, _) => (Level::Warning, ""),
        };
        let hint = if hint.is_empty() { String::new() } else { format!(". {hint}") };
        ctx.notice(
            level,
            format!("the leg goes on with what is known of the base branch: failed to {words}{hint}"),
        );
    }
}

/// What git complained about, if it did.
fn trouble(error: &workspace::Error) -> Option<PushFailure> {
    match error {
        workspace::Error::Git { source: git::Error::Failed { stderr, .. }, .. } => Some(git::meaning(stderr)),
        _ => None,
    }
}

/// Where the base branch counts as being: where the server has it, if that has all that the user's own branch has; else there. Commits
/// that only the user has are what they want the work to stand on.
pub(crate) fn ahead(
    git: &Git,
    job: &Job<'_>,
    local: Option<CommitId>,
    there: Option<CommitId>,
) -> Result<Option<CommitId>, git::Error> {
    match (&local, &there) {
        (Some(own), Some(seen)) if job.source.contains(git, seen, own)? => Ok(there),
        _ => Ok(local),
    }
}
