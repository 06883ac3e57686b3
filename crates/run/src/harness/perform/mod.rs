//! Work of the harness itself: workspace setup and action stages.

use acquit_core::failure::kind;
use acquit_core::prompt::{self, Memory, Parts, Tools};
use acquit_core::template::Template;
use acquit_core::workflow::{Action, Commits};

use super::work::Done;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::LockedWorkspace;

mod by_forge;
mod merge;
mod notify;
mod outgoing;
mod publish;
mod queue_head;
mod squash;
mod waiting;

pub(crate) use merge::judge;
pub(crate) use squash::committer;

/// Performs an action stage. Each action is idempotent: repeated after a crash, it finds its effect and changes
/// nothing.
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
        Action::Notify(message) => notify::notify(ctx, job, message),
    }
}

/// Renders a template of an action stage and redacts secrets. Errors refer to the template as `what`.
fn rendered(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    what: &str,
    template: &Template,
) -> Result<String, LegAbort> {
    let parts = Parts {
        task: job.task,
        definition: job.definition,
        entry: job.entry,
        leg: ctx.hold.leg,
        date: &super::turn::date((ctx.runtime.now)().0),
        handoff_file: "",
        output_dir: "",
        memory: Memory::None,
        tools: Tools::Absent,
        change: None,
        agents_md: None,
        files: prompt::Files::Gone,
    };
    let text = template.render(&prompt::variables(&parts));
    let text = text.map_err(|error| LegAbort::failed(kind::DELIVERY, format!("{what}: {error}")))?;
    Ok(ctx.redactor.text(&text))
}
