//! Schedules for display: when each runs next, and the results of its past nights.

use std::path::Path;

use acquit_core::ids::Name;
use acquit_core::night::{Night, State, morning_report};
use acquit_core::schedule::Schedule;
use acquit_core::store::{Follow, Nights, Store};
use acquit_core::time::Timestamp;

use crate::places::Place;
use crate::serve::{self, Home, repositories, zone};
use crate::{App, Error};

/// A schedule with its current state.
pub struct Scheduled {
    /// Path of its project; `None` for the project of this process.
    pub place: Option<String>,
    /// Short name of its project.
    pub project: String,
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

/// Schedules of several projects.
#[derive(Default)]
pub struct All {
    /// The schedules.
    pub schedules: Vec<Scheduled>,
    /// Projects whose schedules are not shown or not followed, and why.
    pub failed: Vec<(String, Error)>,
}

/// Returns the schedules of the project of this process, and those of the other projects.
pub fn all(app: &App, store: &mut dyn Store, places: &[Place], next: usize, past: u32) -> Result<All, Error> {
    let here = app.project_here();
    let own = app.user_config()?.schedules;
    let mut all = All::default();
    let first = Home::look(app)?;
    all.schedules = of_home(store, &first, next, past)?;
    all.failed.extend(first.untrusted.map(|error| ("this project".to_owned(), error)));
    for place in places.iter().filter(|place| Some(&place.path) != here.as_ref()) {
        match Home::look(&at(app, Some(&place.path))) {
            // A project that nobody follows needs no warning.
            Ok(home) if home.untrusted.is_some() => {}
            Ok(mut home) => {
                // Those of the user's own configuration belong to no project.
                home.config.schedules.retain(|known| own.iter().all(|own| own.name != known.name));
                let schedules = of_home(store, &home, next, past)?;
                let there = |one| Scheduled { place: Some(place.path.clone()), ..one };
                all.schedules.extend(schedules.into_iter().map(there));
            }
            Err(error) => all.failed.push((place.name.clone(), error)),
        }
    }
    Ok(all)
}

fn of_home(store: &mut dyn Store, home: &Home, next: usize, past: u32) -> Result<Vec<Scheduled>, Error> {
    let now = store.now()?;
    let mut all = Vec::new();
    for schedule in &home.config.schedules {
        let standing = store.schedule(&home.project(), &schedule.name)?;
        let held = store.nights(&Nights::Of(home.project(), schedule.name.clone()), past)?;
        let mut nights = Vec::new();
        for night in held {
            let report = match &night.state {
                State::Skipped { .. } | State::Queued => Vec::new(),
                State::Running | State::Over => serve::report(store, home, &night)?,
            };
            nights.push((night, report));
        }
        let paused = match (schedule.paused, standing.paused) {
            (true, _) => Some(Paused::Configured),
            (false, Some(_)) => Some(Paused::ByPerson),
            (false, None) => None,
        };
        let project = Path::new(&home.project()).file_name().map(|name| name.to_string_lossy().into_owned());
        all.push(Scheduled {
            place: None,
            project: project.unwrap_or_default(),
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
    Ok(all)
}

fn upcoming(
    schedule: &Schedule,
    now: Timestamp,
    count: usize,
) -> Result<Vec<(Timestamp, Option<String>)>, Error> {
    Ok(schedule.upcoming(now, &zone(schedule)?, count))
}

/// Returns one schedule of a project with many of its past nights.
pub fn one(
    app: &App,
    store: &mut dyn Store,
    place: Option<&str>,
    name: &Name,
    past: u32,
) -> Result<Scheduled, Error> {
    let mut home = Home::look(&at(app, place))?;
    home.schedule(name)?;
    home.config.schedules.retain(|known| known.name == *name);
    let found = of_home(store, &home, 0, past)?.into_iter().next();
    let none = || Error::NoSuch { doing: "show", name: name.to_string(), known: String::new() };
    found.map(|one| Scheduled { place: place.map(str::to_owned), ..one }).ok_or_else(none)
}

/// Returns an app that works in another project; `None` for the one of this process. Check before that the path is one of
/// [`App::places`].
fn at(app: &App, place: Option<&str>) -> App {
    let here = place.map_or(app.surroundings.here.as_path(), Path::new);
    app.acting_as(&app.surroundings.user, here, Box::new(|_| {}))
}

/// Pauses or resumes a schedule of a project.
pub fn follow(
    app: &App,
    store: &mut dyn Store,
    place: Option<&str>,
    name: &Name,
    follow: Follow,
) -> Result<(), Error> {
    let home = Home::look(&at(app, place))?;
    home.schedule(name)?;
    Ok(store.follow(&home.project(), name, follow)?)
}

/// Records a night of a schedule that starts now. The daemon of its project works on it.
pub fn begin(app: &App, store: &mut dyn Store, place: Option<&str>, name: &Name) -> Result<(), Error> {
    let home = Home::read(&at(app, place))?.trusted()?;
    serve::begin_by_hand(store, &home, name, None).map(drop)
}
