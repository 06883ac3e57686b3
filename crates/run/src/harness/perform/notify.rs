//! The action `notify`: a message to people, recorded with the handoff and sent by the daemon.
//!
//! The message is an event of the leg and is written in its handoff transaction. So a leg that is killed and retried
//! notifies once, and a server that does not answer delays nothing.

use acquit_core::agent::shorten;
use acquit_core::event::Body;
use acquit_core::outcome;
use acquit_core::workflow::Notify;

use super::super::work::{Done, by_harness};
use crate::leg::{Job, LegAbort, LegContext};

/// Maximum length of a message. Channels accept no more.
const LONGEST: usize = 2_000;

/// Records the message.
pub(super) fn notify(ctx: &mut LegContext<'_>, job: &Job<'_>, notify: &Notify) -> Result<Done, LegAbort> {
    let text = super::rendered(ctx, job, "the message of the stage", &notify.message)?;
    let text = shorten(text.trim(), LONGEST);
    ctx.note(Body::Notify { text, channels: notify.channels.clone() });
    Ok(by_harness(outcome::DONE))
}
