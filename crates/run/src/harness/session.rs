//! Decides which earlier conversation an agent continues.
//!
//! The tokens that an agent spent on reading and thinking are paid. So a fix continues the conversation of the stage it
//! fixes, a retry that of the last attempt, and a leg that was held or lost its own. A workflow can ask for a new
//! conversation (`session = "fresh"`); continuing after an interruption does not violate that.

use acquit_core::agent::{AgentEvent, Item, Session};
use acquit_core::ids::{LegId, Name};
use acquit_core::leg::{Ending, Past, Purpose};
use acquit_core::workflow::Continue;

use crate::leg::{Job, LegContext, stage_home};

/// Number of transcript chunks of a lost leg to search. Agents name their session first.
const CHUNKS: u32 = 8;

/// Maximum length of an id. Agents use UUIDs and the like.
const LONGEST_ID: usize = 200;

/// Returns the conversation that this leg's agent continues, if there is one.
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
    // An agent's conversation is stored on the machine where it ran. So is its prompt, which is never sent to others.
    let leg = LegId { task: ctx.hold.leg.task, number: past.number };
    let here = !ctx.runtime.shared || ctx.runtime.leg_folder(leg).prompt().exists();
    told.filter(|session| here && session.agent == *agent && is_id(&session.id))
}

/// Returns whether this can be the id of a conversation. It comes from an agent's output and becomes an argument of the
/// next agent, which must not take it for an option or a path.
fn is_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    !id.is_empty() && id.len() <= LONGEST_ID && !id.starts_with(['-', '.']) && id.chars().all(plain)
}

/// Returns whether a past leg had an agent and worked on the same thing as this one.
fn belongs(past: &Past, job: &Job<'_>) -> bool {
    let mends = match &job.entry.purpose {
        Purpose::Fix { of, .. } => past.entry.stage == *of,
        Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge => false,
    };
    (mends || past.entry.stage == job.stage.name)
        && !matches!(past.entry.purpose, Purpose::Recheck { .. })
        // The agent keeps its conversations in its home.
        && stage_home::of(job.definition, &past.entry) == stage_home::of(job.definition, job.entry)
}

/// Returns the conversation of a leg whose harness died before its handoff.
fn lost(ctx: &mut LegContext<'_>, past: &Past, agent: &Name) -> Option<Session> {
    let leg = LegId { task: ctx.hold.leg.task, number: past.number };
    // Best effort: without it the agent starts a new conversation, which costs money but loses nothing.
    let chunks = ctx.store.transcript(leg, 0, CHUNKS).ok()?;
    let named = |item: &Item| match &item.said {
        AgentEvent::Session { id } => Some(id.clone()),
        _ => None,
    };
    let id = chunks.iter().flat_map(|chunk| &chunk.items).find_map(named)?;
    Some(Session { agent: agent.clone(), id, total: past.usage.clone() })
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn no_id_becomes_an_option_or_a_path() {
        for good in ["0199a213-81c0-7800-8aa1-bbab2a035a53", "ses_6f9eJ", "20260131_101112.4711", "a:b"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "-c", "--config=x", "../x", "a/b", "a b", "a\nb", ".x", &"x".repeat(201)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
