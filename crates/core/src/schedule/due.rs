//! Which runs of a schedule are due: a function of the schedule, what was last recorded, and the moment it is.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::{CatchUp, Overlap, Schedule};
use crate::time::Timestamp;

/// A run that begins no later than this after its time was not slept through: somebody was restarted, or had much to do.
pub const LATE: Duration = Duration::from_mins(10);

/// How far back runs are noted as missed. Who was away for longer knows it.
const LOOK_BACK: Duration = Duration::from_hours(24 * 35);

/// How many are noted at most: a line that names every minute would fill the record of a holiday.
const MOST: usize = 100;

/// A run whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its time by the schedule; with the schedule's name, what identifies it.
    pub nominal: Timestamp,
    /// What it begins with.
    pub category: Option<String>,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What becomes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It begins.
    Run,
    /// It begins when the earlier one is over.
    Queue,
    /// It does not.
    Skip(Reason),
}

/// Why a run does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nobody was there in time.
    #[error("its time was slept through")]
    Missed,
    /// An earlier one is not over.
    #[error("an earlier run is not over")]
    Overlap,
    /// The weekday has none.
    #[error("no category is set for {0}")]
    NoCategory(&'static str),
    /// It is not the hour for it.
    #[error("it is outside of the schedule's hours")]
    Hours,
}

/// Whether an earlier run is still going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// None is.
    Over,
    /// One is, or waits to begin.
    Running,
}

/// The runs that became due after `last` and until `now`, oldest first. Recording each of them under its nominal time and asking
/// again gives none; not having recorded some gives those again.
pub fn due(
    schedule: &Schedule,
    zone: &TimeZone,
    last: Timestamp,
    now: Timestamp,
    earlier: Earlier,
) -> Vec<Due> {
    let back = Timestamp(now.0.saturating_sub(i64::try_from(LOOK_BACK.as_millis()).unwrap_or(i64::MAX)));
    // A record of a time that has not come was made while the clock was wrong, and says nothing about what was run since.
    let recent = || Timestamp(now.0.saturating_sub(i64::try_from(LATE.as_millis()).unwrap_or(i64::MAX)));
    let last = if last > now { recent() } else { last };
    let first = schedule.cron.next(last.max(back), zone);
    let moments = std::iter::successors(first, |at| schedule.cron.next(*at, zone));
    let all: Vec<Timestamp> = moments.take_while(|at| *at <= now).collect();
    let recent = &all[all.len().saturating_sub(MOST)..];
    // The newest that has anything to do is the one that counts.
    let newest = recent.iter().rfind(|at| schedule.category(**at, zone).is_ok()).copied();
    let one = |nominal: &Timestamp| match schedule.category(*nominal, zone) {
        Err(day) => {
            Due { nominal: *nominal, category: None, verdict: Verdict::Skip(Reason::NoCategory(day.0)) }
        }
        Ok(category) => {
            let verdict = if Some(*nominal) == newest {
                newest_verdict(schedule, zone, *nominal, now, earlier)
            } else {
                Verdict::Skip(Reason::Missed)
            };
            Due { nominal: *nominal, category: category.map(str::to_owned), verdict }
        }
    };
    recent.iter().map(one).collect()
}

fn newest_verdict(
    schedule: &Schedule,
    zone: &TimeZone,
    nominal: Timestamp,
    now: Timestamp,
    earlier: Earlier,
) -> Verdict {
    if now.since(nominal) > LATE && schedule.catch_up == CatchUp::Skip {
        return Verdict::Skip(Reason::Missed);
    }
    match (earlier, schedule.overlap) {
        (Earlier::Running, Overlap::Skip) => Verdict::Skip(Reason::Overlap),
        (Earlier::Running, Overlap::Queue) => Verdict::Queue,
        (Earlier::Over, _) if !schedule.is_open(now, zone) => Verdict::Skip(Reason::Hours),
        (Earlier::Over, _) => Verdict::Run,
    }
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
