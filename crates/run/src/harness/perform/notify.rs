//! The action `notify`: a message to people, written down with the handoff and sent by the daemon.
//!
//! It is an event of the leg, and events of a leg that end with it are part of the transaction of its handoff. So a leg that is killed
//! and tried again tells once, and a server that does not answer holds up nothing.

use acquit_core::agent::shorten;
use acquit_core::event::Body;
use acquit_core::outcome;
use acquit_core::workflow::Notify;

use super::super::work::{Done, by_harness};
use crate::leg::{Job, LegAbort, LegContext};

/// The longest message: channels take no more than this.
const LONGEST: usize = 2_000;

/// Writes the message down.
pub(super) fn notify(ctx: &mut LegContext<'_>, job: &Job<'_>, notify: &Notify) -> Result<Done, LegAbort> {
    let text = super::rendered(ctx, job, "the message of the stage", &notify.message)?;
    let text = shorten(text.trim(), LONGEST);
    ctx.note(Body::Notify { text, channels: notify.channels.clone() });
    Ok(by_harness(outcome::DONE))
}
