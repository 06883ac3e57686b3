//! Computes which runs of a schedule are due, from the schedule, the last recorded run and the current time.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::{CatchUp, Overlap, Schedule};
use crate::time::Timestamp;

/// A run that starts within this time counts as on time: a process was restarted or busy.
pub const LATE: Duration = Duration::from_mins(10);

/// How far back to record missed runs. A user who was away longer knows it.
const LOOK_BACK: Duration = Duration::from_hours(24 * 35);

/// Maximum number of recorded missed runs. A line that matches every minute would otherwise fill the record of a
/// holiday.
const MOST: usize = 100;

/// A run whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Nominal time by the schedule. Together with the schedule's name it identifies the run.
    pub nominal: Timestamp,
    /// First value of the variation.
    pub category: Option<String>,
    /// What to do with it.
    pub verdict: Verdict,
}

/// What to do with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start it.
    Run,
    /// Start it when the earlier one ends.
    Queue,
    /// Skip it.
    Skip(Reason),
}

/// Why a run is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No process was running at its time.
    #[error("its time was slept through")]
    Missed,
    /// An earlier run has not ended.
    #[error("an earlier run is not over")]
    Overlap,
    /// The weekday has no category.
    #[error("no category is set for {0}")]
    NoCategory(&'static str),
    /// It is outside of the schedule's hours.
    #[error("it is outside of the schedule's hours")]
    Hours,
}

/// Whether an earlier run is still active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// None is.
    Over,
    /// One is running or waits to start.
    Running,
}

/// Returns the runs that became due after `last` and until `now`, oldest first. A run that is recorded under its
/// nominal time is not returned again; a run that is not recorded is.
pub fn due(
    schedule: &Schedule,
    zone: &TimeZone,
    last: Timestamp,
    now: Timestamp,
    earlier: Earlier,
) -> Vec<Due> {
    let back = Timestamp(now.0.saturating_sub(i64::try_from(LOOK_BACK.as_millis()).unwrap_or(i64::MAX)));
    // A record from the future was made while the clock was wrong, and says nothing about runs since.
    let recent = || Timestamp(now.0.saturating_sub(i64::try_from(LATE.as_millis()).unwrap_or(i64::MAX)));
    let last = if last > now { recent() } else { last };
    let first = schedule.cron.next(last.max(back), zone);
    let moments = std::iter::successors(first, |at| schedule.cron.next(*at, zone));
    let all: Vec<Timestamp> = moments.take_while(|at| *at <= now).collect();
    let recent = &all[all.len().saturating_sub(MOST)..];
    // The newest run with a category is the one that counts.
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
