//! Limits on cost and time that a person set: for a stage, for a task and for one `acquit run`.
//!
//! They count from the last time that a person approved the spending, so approving grants the same amount again. They
//! are enforced while the agent runs, as far as it reports its usage: some agents report it only at the end, and some
//! have no price.

use std::time::{Duration, Instant};

use acquit_core::failure::kind;
use acquit_core::price::dollars;
use acquit_core::store;

use super::{Job, LegAbort, LegContext, span};
use crate::turn_summary::TurnSummary;

/// A cost limit.
#[derive(Debug)]
struct Cap {
    limit: u64,
    /// Amount that earlier legs spent of it.
    before: u64,
    /// Where it is configured.
    place: String,
}

/// The remaining budget of a leg.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    caps: Vec<Cap>,
    /// Deadline, and the time limit it comes from.
    until: Option<(Instant, Duration)>,
}

impl Allowance {
    /// Returns the remaining budget of this leg.
    pub(crate) fn of(ctx: &mut LegContext<'_>, job: &Job<'_>) -> Result<Self, store::Error> {
        let (task, stage, chosen) = (job.task, &job.stage.name, &job.definition.chosen);
        let mut caps = Vec::new();
        let mut cap = |limit: Option<u64>, before: u64, place: String| {
            caps.extend(limit.map(|limit| Cap { limit, before, place }));
        };
        cap(
            job.stage.limits.cost,
            task.spent_money(|past| past.entry.stage == *stage),
            format!("`max_cost` of stage {stage} in the workflow"),
        );
        cap(
            job.definition.config.max_cost,
            task.spent_money(|_| true),
            "`max_cost` in .acquit/acquit.toml".to_owned(),
        );
        cap(chosen.max_cost, task.spent_money(|past| past.number > chosen.since), "--max-cost".to_owned());
        let until = match chosen.max_time {
            None => None,
            Some(limit) => {
                let counts = task.past.get(task.paid_for).map_or(task.legs, |past| past.number);
                let from = counts.max(chosen.since + 1);
                let legs = ctx.store.legs(ctx.hold.leg.task)?;
                let counted = legs.iter().filter(|leg| leg.id.number >= from);
                let used: Duration = counted.filter_map(|leg| Some(leg.ended?.since(leg.started?))).sum();
                Some((Instant::now() + limit.duration().saturating_sub(used), limit.duration()))
            }
        };
        Ok(Self { caps, until })
    }

    /// Returns whether there is a limit on money.
    pub(crate) fn has_caps(&self) -> bool {
        !self.caps.is_empty()
    }

    /// Fails if nothing is left.
    pub(crate) fn must_last(&self) -> Result<(), LegAbort> {
        match self.spent(&TurnSummary::default()) {
            Some(words) => Err(LegAbort::failed(kind::SPENT, words)),
            None => Ok(()),
        }
    }

    /// Returns a message about the limit that is reached, if any.
    pub(crate) fn spent(&self, summary: &TurnSummary) -> Option<String> {
        let now = summary.usage.paid().unwrap_or(0);
        for Cap { limit, before, place } in &self.caps {
            let used = before.saturating_add(now);
            if used >= *limit {
                return Some(format!(
                    "the limit on money is reached: {} of {} used ({place}). Approve to allow as much again",
                    dollars(used),
                    dollars(*limit)
                ));
            }
        }
        let (until, limit) = self.until?;
        (Instant::now() >= until).then(|| {
            format!(
                "the limit on time is reached: {} (--max-time). Approve to allow as much again",
                span(limit)
            )
        })
    }
}
