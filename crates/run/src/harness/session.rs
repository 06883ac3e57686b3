//! Which earlier conversation an agent goes on with.
//!
//! What an agent has read and thought is paid for. So a fix goes on with the conversation of the stage that it mends, another
//! try with that of the last, and a leg that was held or lost with its own. A workflow can ask for fresh eyes
//! (`session = "fresh"`), which an interruption does not count against.

use acquit_core::agent::{AgentEvent, Item, Session};
use acquit_core::ids::{LegId, Name};
use acquit_core::leg::{Ending, Past, Purpose};
use acquit_core::workflow::Continue;

use crate::leg::{Job, LegContext, stage_home};

/// How much of a lost leg's transcript is looked at: agents name their session first of all.
const CHUNKS: u32 = 8;

/// The conversation that this leg's agent goes on with, if there is one.
pub(super) fn earlier(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    agent: &Name,
    how: Continue,
) -> Option<Session> {
    let past = job.task.past.iter().rev().find(|past| belongs(past, job))?;
    let interrupted = matches!(past.ending, Ending::Held { .. } | Ending::Lost { .. });
    if how == Continue::Fresh && !interrupted {
        return None;
    }
    let told = match (&past.session, &past.ending) {
        (None, Ending::Lost { .. }) => lost(ctx, past, agent),
        (session, _) => session.as_deref().cloned(),
    };
    // What an agent keeps of a conversation is on the machine that it ran on; so is its prompt, which is never sent.
    let leg = LegId { task: ctx.hold.leg.task, number: past.number };
    let here = !ctx.runtime.shared || ctx.runtime.leg_folder(leg).prompt().exists();
    told.filter(|session| here && session.agent == *agent)
}

/// Whether a leg was about what this one is about, and had an agent.
fn belongs(past: &Past, job: &Job<'_>) -> bool {
    let mends = match &job.entry.purpose {
        Purpose::Fix { of, .. } => past.entry.stage == *of,
        Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge => false,
    };
    (mends || past.entry.stage == job.stage.name)
        && !matches!(past.entry.purpose, Purpose::Recheck { .. })
        // What the agent keeps of a conversation is in its home.
        && stage_home::of(job.definition, &past.entry) == stage_home::of(job.definition, job.entry)
}

/// The conversation of a leg whose harness died before it could hand it over.
fn lost(ctx: &mut LegContext<'_>, past: &Past, agent: &Name) -> Option<Session> {
    let leg = LegId { task: ctx.hold.leg.task, number: past.number };
    // Best effort: without it the agent begins anew, which costs money and loses nothing.
    let chunks = ctx.store.transcript(leg, 0, CHUNKS).ok()?;
    let named = |item: &Item| match &item.said {
        AgentEvent::Session { id } => Some(id.clone()),
        _ => None,
    };
    let id = chunks.iter().flat_map(|chunk| &chunk.items).find_map(named)?;
    Some(Session { agent: agent.clone(), id, total: past.usage.clone() })
}
