//! The base branch at a plain git server: a host that is not known to be a forge.
//!
//! Nothing is delivered there. Work that a workflow would publish ends on a branch of the user's repository, and people
//! take it from there. They will apply it to the shared branch, which the user may not have fetched for a while. So the
//! branch is fetched before a leg, with the same hardened fetch, limits and private ref as for a forge
//! ([`super::upstream`]). It counts if it contains all of the user's own branch. If the server does not answer, the leg
//! logs a warning and continues with the known state.

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
    /// CA certificates to trust.
    ca: Option<PathBuf>,
}

impl Server {
    /// Returns the server for the leg's task, if its branch counts: the workflow publishes, and does not itself merge
    /// into the user's own branch.
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

    /// Fetches the base branch. If that fails, the leg continues and its log says why.
    pub(crate) fn look(&self, ctx: &mut LegContext<'_>, job: &Job<'_>, workspace: &LockedWorkspace) {
        let Some(branch) = &job.task.seed.base.branch else { return };
        // Tokens are only for forges. Nothing but the address of this host is known.
        let access = forge::access(ctx.runtime, Kind::None, self.address.transport, None);
        let proxy = job.definition.config.forge.proxy.as_deref();
        let way = PushWay { url: &self.address.url, access, ca: self.ca.as_deref(), proxy };
        let Err(error) = workspace.fetch_base(&job.source, &way, branch, &job.base) else { return };
        let words = ctx.redactor.text(&super::chain(&error));
        let (level, hint) = match (trouble(&error), self.address.transport) {
            // This happens every time, so it is not worth a warning.
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

/// Returns the reason of a git failure, if it is one.
fn trouble(error: &workspace::Error) -> Option<PushFailure> {
    match error {
        workspace::Error::Git { source: git::Error::Failed { stderr, .. }, .. } => Some(git::meaning(stderr)),
        _ => None,
    }
}

/// Returns the base branch that counts: the server's, if it contains all of the user's own branch, otherwise the
/// user's. If the user has extra commits, they want the work to be based on those.
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
