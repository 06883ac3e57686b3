//! Schedules for display: when each runs next, and the results of its past nights.

use acquit_core::ids::Name;
use acquit_core::night::{Night, State, morning_report};
use acquit_core::schedule::Schedule;
use acquit_core::store::{Follow, Nights, Store};
use acquit_core::time::Timestamp;

use crate::serve::{self, Home, repositories, zone};
use crate::{App, Error};

/// A schedule with its current state.
pub struct Scheduled {
    /// Name.
    pub name: Name,
    /// Cron expression.
    pub cron: String,
    /// Time zone; `None` for the machine's.
    pub zone: Option<String>,
    /// Workflow of its tasks.
    pub workflow: Name,
    /// Repositories, as the schedule names them.
    pub repositories: Vec<String>,
    /// Whether it is paused, and by what.
    pub paused: Option<Paused>,
    /// Next runs with their categories, or why there are none.
    pub next: Result<Vec<(Timestamp, Option<String>)>, Error>,
    /// Past nights with their reports, newest first.
    pub nights: Vec<(Night, Vec<morning_report::Entry>)>,
}

/// What pauses a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// The configuration.
    Configured,
    /// A person.
    ByPerson,
}

/// Returns the schedules of the project that the daemon serves.
pub fn schedules(
    app: &App,
    store: &mut dyn Store,
    next: usize,
    past: u32,
) -> Result<(Vec<Scheduled>, Option<Error>), Error> {
    let home = Home::look(app)?;
    let now = store.now()?;
    let mut all = Vec::new();
    for schedule in &home.config.schedules {
        let standing = store.schedule(&home.project(), &schedule.name)?;
        let held = store.nights(&Nights::Of(home.project(), schedule.name.clone()), past)?;
        let mut nights = Vec::new();
        for night in held {
            let report = match &night.state {
                State::Skipped { .. } | State::Queued => Vec::new(),
                State::Running | State::Over => serve::report(store, &home, &night)?,
            };
            nights.push((night, report));
        }
        let paused = match (schedule.paused, standing.paused) {
            (true, _) => Some(Paused::Configured),
            (false, Some(_)) => Some(Paused::ByPerson),
            (false, None) => None,
        };
        all.push(Scheduled {
            name: schedule.name.clone(),
            cron: schedule.cron.to_string(),
            zone: schedule.zone.clone(),
            workflow: schedule.workflow.clone(),
            repositories: repositories(schedule),
            paused,
            next: upcoming(schedule, now, next),
            nights,
        });
    }
    Ok((all, home.untrusted))
}

fn upcoming(
    schedule: &Schedule,
    now: Timestamp,
    count: usize,
) -> Result<Vec<(Timestamp, Option<String>)>, Error> {
    Ok(schedule.upcoming(now, &zone(schedule)?, count))
}

/// Pauses or resumes a schedule.
pub fn follow(app: &App, store: &mut dyn Store, name: &Name, follow: Follow) -> Result<(), Error> {
    let home = Home::look(app)?;
    home.schedule(name)?;
    Ok(store.follow(&home.project(), name, follow)?)
}
