//! The base branch as others see it: at the forge that the work goes to.
//!
//! A task whose workflow publishes or merges delivers to the forge of its repository, if that has one; so what its base branch is
//! there counts beside what it is in the user's repository, which may not have been fetched for a while. It is fetched with the
//! login of a push, within a named time, into refs of acquit's own. At the start of a leg a forge that is away is worth a warning. Before
//! something is delivered it is a reason to wait.

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
    /// Where it is.
    pub(crate) place: Place,
    /// Certificates that git is to trust.
    ca: Option<PathBuf>,
    /// Found when it is first needed: programs may have to be asked for it.
    token: OnceCell<Option<Token>>,
}

/// Why nobody knows where the base branch is at the forge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Missed {
    /// There is no way to it.
    #[error("failed to {0}")]
    Forge(forge::Error),
    /// Git could not talk to it.
    #[error("failed to {words}")]
    Git {
        /// The whole of what git said, without secrets.
        words: String,
        /// The same, to be told apart.
        #[source]
        source: workspace::Error,
    },
}

impl Upstream {
    /// The forge of the leg's task, if its work goes to one. What is wrong with its settings is said by the stage that delivers.
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
        // What a person merges by hand is merged into the branch of their own repository.
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

    /// Its token, if there is one. From here on nothing that leaves the leg has it.
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

    /// How git reaches one of its repositories.
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

    /// Looks where the base branch is there. From then on the user's repository has its commits, below a ref of acquit's own.
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
