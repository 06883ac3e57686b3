//! Schedules for people who look: when each runs next, and what its past nights came to.

use acquit_core::ids::Name;
use acquit_core::night::{Night, State, morning_report};
use acquit_core::schedule::Schedule;
use acquit_core::store::{Follow, Nights, Store};
use acquit_core::time::Timestamp;

use crate::serve::{self, Home, repositories, zone};
use crate::{App, Error};

/// A schedule as it stands.
pub struct Scheduled {
    /// Its name.
    pub name: Name,
    /// When it runs, as it is written.
    pub cron: String,
    /// The zone of its clock; `None` for the machine's.
    pub zone: Option<String>,
    /// The workflow that its tasks follow.
    pub workflow: Name,
    /// Its repositories, as it names them.
    pub repositories: Vec<String>,
    /// Whether it is paused, and by what.
    pub paused: Option<Paused>,
    /// Its next runs, each with what it begins with; or why there are none.
    pub next: Result<Vec<(Timestamp, Option<String>)>, Error>,
    /// Its past nights, newest first, each with its report.
    pub nights: Vec<(Night, Vec<morning_report::Entry>)>,
}

/// What pauses a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// Its configuration.
    Configured,
    /// A person.
    ByPerson,
}

/// The schedules of the project that the daemon serves.
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

/// Pauses a schedule, or resumes it.
pub fn follow(app: &App, store: &mut dyn Store, name: &Name, follow: Follow) -> Result<(), Error> {
    let home = Home::look(app)?;
    home.schedule(name)?;
    Ok(store.follow(&home.project(), name, follow)?)
}
