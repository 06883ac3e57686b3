//! The base branch as others see it: at the forge that the work goes to.
//!
//! If a workflow publishes or merges, the task delivers to the forge of its repository, if there is one. So the forge's
//! base branch counts in addition to that of the user's repository, which may not have been fetched for a while. It is
//! fetched with the credentials of a push, within a time limit, into refs of acquit's own. At the start of a leg, a
//! forge that is down only causes a warning. Before a delivery it is a reason to wait.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use acquit_core::config::By;
use acquit_core::leg::Purpose;
use acquit_core::workflow::{Action, Work};

use super::{Job, LegContext};
use crate::forge::{self, Address, Located, Place, Token};
use crate::git::PushWay;
use crate::workspace::{self, LockedWorkspace};

/// The forge that a task's work goes to.
pub(crate) struct Upstream {
    /// Location of the project at the forge.
    pub(crate) place: Place,
    /// CA certificates that git must trust.
    ca: Option<PathBuf>,
    /// Looked up on first use, because that may run programs.
    token: OnceCell<Option<Token>>,
}

/// Why the forge's base branch is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Missed {
    /// The forge cannot be accessed.
    #[error("failed to {0}")]
    Forge(forge::Error),
    /// Git could not reach the forge.
    #[error("failed to {words}")]
    Git {
        /// The whole error message, with secrets redacted.
        words: String,
        /// The error, to distinguish causes.
        #[source]
        source: workspace::Error,
    },
}

impl Upstream {
    /// Returns the forge of the leg's task, if its work goes to one. Invalid settings are reported by the stage that
    /// delivers.
    pub(crate) fn of(ctx: &LegContext<'_>, job: &Job<'_>) -> Option<Rc<Self>> {
        let merges = job.definition.config.merge.by == By::Forge;
        let delivers = |work: &Work| match work {
            Work::Action { action: Action::Publish(_), .. } => true,
            Work::Action { action: Action::Merge, .. } => merges,
            Work::Action { action: Action::Squash | Action::Notify(_), .. }
            | Work::Agent(_)
            | Work::Check
            | Work::Human { .. } => false,
        };
        // A merge that a person starts by hand goes into the branch of their own repository.
        if job.entry.purpose == Purpose::Merge || job.task.seed.base.branch.is_none() {
            return None;
        }
        if !job.definition.workflow.stages.iter().any(|stage| delivers(&stage.work)) {
            return None;
        }
        let settings = &job.definition.config.forge;
        match forge::of(ctx.runtime, settings, &job.source) {
            Ok(Located::At(place)) => Some(Rc::new(Self {
                place: *place,
                ca: forge::ca(ctx.runtime, settings),
                token: OnceCell::new(),
            })),
            Ok(Located::Nowhere(_)) | Err(_) => None,
        }
    }

    /// Returns the token, if there is one. From here on, it is redacted from everything that leaves the leg.
    pub(crate) fn token(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
    ) -> Result<Option<&Token>, forge::Error> {
        if self.token.get().is_none() {
            let found = forge::token::find(ctx.runtime, &job.definition.config, &self.place)?;
            if let Some(token) = &found {
                ctx.redactor = ctx.redactor.with(std::slice::from_ref(&token.secret));
            }
            let _ = self.token.set(found);
        }
        Ok(self.token.get().and_then(Option::as_ref))
    }

    /// Returns the connection settings for one of its repositories.
    pub(crate) fn way<'w>(
        &'w self,
        ctx: &LegContext<'_>,
        job: &'w Job<'_>,
        address: &'w Address,
        token: Option<&'w Token>,
    ) -> PushWay<'w> {
        let access = forge::access(ctx.runtime, self.place.kind, address.transport, token);
        let proxy = job.definition.config.forge.proxy.as_deref();
        PushWay { url: &address.url, access, ca: self.ca.as_deref(), proxy }
    }

    /// Fetches the base branch, so that the user's repository has its commits, under a ref of acquit's own.
    pub(crate) fn look(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
    ) -> Result<(), Missed> {
        let Some(branch) = &job.task.seed.base.branch else { return Ok(()) };
        let token = self.token(ctx, job).map_err(Missed::Forge)?;
        let way = self.way(ctx, job, &self.place.upstream, token);
        match workspace.fetch_base(&job.source, &way, branch, &job.base) {
            Ok(_) => Ok(()),
            Err(source) => Err(Missed::Git { words: ctx.redactor.text(&super::chain(&source)), source }),
        }
    }
}
