//! Nights: records them when they are due, advances them until all work has ended, and reports them in the morning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acquit_core::config::notify::Told;
use acquit_core::decide::Input;
use acquit_core::ids::{Name, TaskId};
use acquit_core::night::{
    Cause, Door, Job, Move, Night, Progress, Rules, Standing, State, Work, morning_report, moves,
};
use acquit_core::schedule::{Earlier, NoCategory, Schedule, Verdict, due, local};
use acquit_core::store::{self, Nights, Recorded, Store};
use acquit_core::task::{Actor, State as TaskState};
use acquit_core::time::{Span, Timestamp};
use acquit_run::notify::{self, Notice};

use super::memory::link;
use super::night_start::Which;
use super::rework::{since, used};
use super::{Busy, Daemon, Home, Until, repositories, zone};
use crate::error::Error;
use crate::suggest;

/// Maximum number of open nights to read.
const OPEN: u32 = 100;
/// Maximum number of nights of a schedule to search.
const RECENT: u32 = 50;

/// Returns the night of a schedule with this nominal time.
pub(super) fn find(
    store: &mut dyn Store,
    project: &str,
    schedule: &Name,
    nominal: Timestamp,
) -> Result<Option<Night>, Error> {
    let open = store.nights(&Nights::Open(project.to_owned()), OPEN)?;
    let recent = store.nights(&Nights::Of(project.to_owned(), schedule.clone()), RECENT)?;
    let is = |night: &Night| night.schedule == *schedule && night.nominal == nominal;
    Ok(open.into_iter().chain(recent).find(is))
}

impl Daemon<'_> {
    /// Records the nights that are due. Returns when the next one is.
    pub(super) fn fire(&mut self, store: &mut dyn Store, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let mut next: Option<Timestamp> = None;
        let project = self.home.project();
        for schedule in &self.home.config.schedules {
            let zone = match zone(schedule) {
                Ok(zone) => zone,
                Err(error) => {
                    self.log("trouble", &acquit_run::harness::chain(&error));
                    continue;
                }
            };
            let standing = store.schedule(&project, &schedule.name)?;
            if schedule.paused || standing.paused.is_some() {
                continue;
            }
            let recent = store.nights(&Nights::Of(project.clone(), schedule.name.clone()), RECENT)?;
            // A night started by hand neither counts as a run of the schedule nor replaces one.
            let by_clock = recent.iter().filter(|night| night.cause == Cause::Clock);
            let last =
                by_clock.map(|night| night.nominal).max().unwrap_or(standing.since).max(standing.since);
            let open = recent.iter().any(|night| night.state.is_open());
            let earlier = if open { Earlier::Running } else { Earlier::Over };
            for one in due(schedule, &zone, last, now, earlier) {
                let (state, words) = match one.verdict {
                    Verdict::Run => (State::Running, "begins".to_owned()),
                    Verdict::Queue => (State::Queued, "waits for the one before it".to_owned()),
                    Verdict::Skip(reason) => {
                        (State::Skipped { reason: reason.to_string() }, format!("is skipped: {reason}"))
                    }
                };
                let places = repositories(schedule);
                let mut night =
                    Night::new(schedule.name.clone(), one.nominal, state, one.category, &places).of(&project);
                night.began = (night.state == State::Running).then_some(now);
                if store.record(&night)? == Recorded::New {
                    let date = date(schedule, one.nominal);
                    let category =
                        night.category.map(|category| format!(" with {category}")).unwrap_or_default();
                    self.log("night", &format!("{} {date}{category} {words}", schedule.name));
                }
            }
            next = next.into_iter().chain(schedule.cron.next(now, &zone)).min();
        }
        Ok(next)
    }

    /// Advances every open night.
    pub(super) fn go_on(&mut self, store: &mut dyn Store, now: Timestamp) -> Result<Busy, Error> {
        self.reap_beginners(store)?;
        let mut busy = Busy::No;
        let mut running: BTreeSet<Name> = BTreeSet::new();
        let mut wanted = BTreeSet::new();
        let nights = store.nights(&Nights::Open(self.home.project()), OPEN)?;
        for night in nights {
            let only = self.options.only.as_ref();
            if only.is_some_and(|(name, nominal)| (name, *nominal) != (&night.schedule, night.nominal)) {
                continue;
            }
            let first = running.insert(night.schedule.clone());
            match night.state {
                State::Queued if first => {
                    let begun = Night { state: State::Running, began: Some(now), ..night };
                    self.log("night", &format!("{} begins after the one before it", begun.schedule));
                    store.keep(&begun, &[])?;
                    busy = Busy::Yes;
                }
                State::Running => {
                    if self.step(store, night, now, &mut wanted)? == Busy::Yes {
                        busy = Busy::Yes;
                    }
                }
                State::Queued | State::Over | State::Skipped { .. } => {}
            }
        }
        self.keep_beginners(&wanted);
        Ok(busy)
    }

    /// Takes the next steps of a night, and returns whether it is still in progress.
    fn step(
        &mut self,
        store: &mut dyn Store,
        mut night: Night,
        now: Timestamp,
        wanted: &mut BTreeSet<Which>,
    ) -> Result<Busy, Error> {
        let Ok(schedule) = self.home.schedule(&night.schedule).cloned() else {
            if self.waits {
                return Ok(Busy::No);
            }
            return self.finish_without_schedule(store, night, now);
        };
        let door = match zone(&schedule) {
            Ok(zone) if !schedule.is_open(now, &zone) => Door::Closed,
            _ => Door::Open,
        };
        // A night started by hand may start at any hour.
        let door = match night.cause {
            Cause::Clock => door,
            Cause::Hand => Door::Open,
        };
        let rules = Rules { order: schedule.order, budget: schedule.budget, door };
        let standings = standings(store, &night)?;
        let look = |id: TaskId| {
            standings.get(&id).copied().unwrap_or(Standing { cost_micros: 0, work: Work::Absent })
        };
        let all = moves(&night, rules, look);
        if all.is_empty() {
            return Ok(Busy::Yes);
        }
        let (name, nominal) = (night.schedule.clone(), night.nominal);
        let project = self.home.project();
        let which = |job| Which { project: project.clone(), schedule: name.clone(), nominal, job };
        wanted.extend(all.iter().filter_map(|one| match one {
            Move::Begin(job) => Some(which(*job)),
            Move::Skip(..) | Move::Cancel(_) | Move::Finish => None,
        }));
        for one in all {
            match one {
                Move::Begin(job) => {
                    if let Some(reason) = self.begin(&which(job))? {
                        match self.leave(store, night, &which(job), reason)? {
                            Some(next) => night = next,
                            None => return Ok(Busy::Yes),
                        }
                    }
                }
                Move::Skip(job, reason) => match self.leave(store, night, &which(job), reason)? {
                    Some(next) => night = next,
                    // Another process wrote meanwhile; read again.
                    None => return Ok(Busy::Yes),
                },
                Move::Cancel(task) => {
                    self.log("night", &format!("{}: {task} is ended, the budget is spent", night.schedule));
                    match self.app.decide(store, task, &Input::Cancel { by: Actor::Supervisor }) {
                        // The task has ended meanwhile.
                        Ok(_) | Err(Error::Illegal { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                Move::Finish => self.finish(store, &night, now)?,
            }
        }
        Ok(Busy::Yes)
    }

    /// Skips a repository. Returns the updated night, or `None` if another process wrote meanwhile.
    fn leave(
        &mut self,
        store: &mut dyn Store,
        mut night: Night,
        which: &Which,
        reason: String,
    ) -> Result<Option<Night>, Error> {
        self.beginners.forget(which);
        let job = &mut night.jobs[which.job];
        self.log("night", &format!("{}: {} is left alone: {reason}", night.schedule, job.repository));
        job.progress = Progress::Skipped { reason };
        Ok(store.keep(&night, &[])?)
    }

    /// Ends a night whose schedule is gone, once its running work has ended. Skips the rest then, because nothing
    /// defines how to run it. If the schedule is restored before that, the rest still runs.
    fn finish_without_schedule(
        &mut self,
        store: &mut dyn Store,
        mut night: Night,
        now: Timestamp,
    ) -> Result<Busy, Error> {
        if standings(store, &night)?.values().any(|standing| standing.work != Work::Settled) {
            return Ok(Busy::Yes);
        }
        for job in night.jobs.iter_mut().filter(|job| job.progress == Progress::Todo) {
            job.progress =
                Progress::Skipped { reason: "the schedule is not in the configuration any more".to_owned() };
        }
        self.finish(store, &night, now)?;
        Ok(Busy::Yes)
    }

    /// Ends a night. Writes the record and the messages about it in one transaction.
    fn finish(&mut self, store: &mut dyn Store, night: &Night, now: Timestamp) -> Result<(), Error> {
        let mut over = Night { state: State::Over, ended: Some(now), ..night.clone() };
        let entries = entries(store, &self.home.top, &over)?;
        over.entries.clone_from(&entries);
        let date = date_of(&self.home, night);
        let title = morning_report::title(&over, &date, &entries);
        let link = entries.iter().find_map(|entry| match &entry.result {
            morning_report::Result::Requested { link } => Some(link.clone()),
            _ => None,
        });
        let notice = Notice {
            request: None,
            event: Told::Report.word().to_owned(),
            title: title.clone(),
            text: morning_report::markdown(&over, &date, &entries),
            link,
            task: None,
            project: self.home.top.file_name().map(|name| name.to_string_lossy().into_owned()),
            answers: Vec::new(),
            replaces: None,
            page: Some(morning_report::page(&over, &date, &entries)),
        };
        let key = format!("night/{}/{}", night.schedule, night.nominal.0);
        let hour = self.report_hour(night);
        let messages = notify::messages(
            &self.home.config,
            &night.project,
            Told::Report,
            &key,
            &notice,
            store.now()?,
            hour,
        );
        if store.keep(&over, &messages)?.is_some() {
            self.log("night", &format!("{title}; over"));
        }
        Ok(())
    }
}

impl Daemon<'_> {
    /// Returns when to send the report of a night: the next morning, if the configuration sets an hour. If a person
    /// waits for it, it is sent at once.
    fn report_hour(&self, night: &Night) -> Option<Timestamp> {
        if night.cause == Cause::Hand || self.options.until == Until::Done {
            return None;
        }
        let hour = self.home.config.notices.report.at.as_ref()?;
        let zone = self.home.schedule(&night.schedule).and_then(zone).ok()?;
        hour.next(night.nominal, &zone)
    }
}

/// Records a night that starts now. The daemon advances it.
pub fn begin_by_hand(
    store: &mut dyn Store,
    home: &Home,
    name: &Name,
    category: Option<String>,
) -> Result<(Night, Recorded), Error> {
    let schedule = home.schedule(name)?;
    let now = store.now()?;
    let category = match (category, schedule.category(now, &zone(schedule)?)) {
        (Some(category), _) => Some(category),
        (None, Ok(category)) => category.map(str::to_owned),
        (None, Err(NoCategory(day))) => {
            return Err(Error::NoCategoryToday { schedule: name.clone(), day });
        }
    };
    if let Some(category) = &category {
        home.check_category(schedule, category)?;
    }
    let mut night =
        Night::new(name.clone(), now, State::Running, category, &repositories(schedule)).of(&home.project());
    night.began = Some(now);
    night.cause = Cause::Hand;
    let recorded = store.record(&night)?;
    Ok((night, recorded))
}

/// Returns the date that names a night: the local date at its nominal time.
pub(super) fn date(schedule: &Schedule, nominal: Timestamp) -> String {
    let zone = zone(schedule).unwrap_or(jiff::tz::TimeZone::UTC);
    local(nominal, &zone).map(|local| local.date().to_string()).unwrap_or_default()
}

/// Returns the same date for a night whose schedule, and with it the time zone, may be gone. Uses UTC then.
pub fn date_of(home: &Home, night: &Night) -> String {
    match home.schedule(&night.schedule) {
        Ok(schedule) => date(schedule, night.nominal),
        Err(_) => local(night.nominal, &jiff::tz::TimeZone::UTC)
            .map(|local| local.date().to_string())
            .unwrap_or_default(),
    }
}

/// Returns the report of a night: the stored one, or the current state while the night is open.
pub fn report(
    store: &mut dyn Store,
    home: &Home,
    night: &Night,
) -> Result<Vec<morning_report::Entry>, Error> {
    if night.entries.is_empty() { entries(store, &home.top, night) } else { Ok(night.entries.clone()) }
}

/// Returns the state of a night's tasks.
fn standings(store: &mut dyn Store, night: &Night) -> Result<BTreeMap<TaskId, Standing>, Error> {
    let mut all = BTreeMap::new();
    for id in night.tasks() {
        let task = match store.task(id) {
            Ok(task) => task,
            Err(store::Error::NoTask(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let legs = since(night, id, store.legs(id)?);
        let usage = used(&legs);
        let work = match &task.state {
            TaskState::New | TaskState::Working { cancel: None, .. } => Work::Going,
            TaskState::Working { cancel: Some(_), .. } => Work::Ending,
            TaskState::Waiting { .. } | TaskState::Blocked { .. } | TaskState::Ended { .. } => Work::Settled,
        };
        let cost_micros = usage.paid().unwrap_or(0);
        all.insert(id, Standing { cost_micros, work });
    }
    Ok(all)
}

/// Returns the report entries of a night, one per repository.
fn entries(store: &mut dyn Store, top: &Path, night: &Night) -> Result<Vec<morning_report::Entry>, Error> {
    let mut all = Vec::new();
    for Job { repository, progress } in &night.jobs {
        // `.` means something in a configuration, but nothing on a phone: show the folder name instead.
        let own = || Some(top.file_name()?.to_string_lossy().into_owned());
        let named = (repository == ".").then(own).flatten();
        let repository = named.as_ref().unwrap_or(repository);
        let without = |result: morning_report::Result| morning_report::Entry {
            repository: repository.clone(),
            task: None,
            category: None,
            fallback_from: None,
            result,
            change: None,
            answers: Vec::new(),
            usage: acquit_core::agent::Usage::default(),
            took: None,
        };
        let left = |reason: String| without(morning_report::Result::Skipped { reason });
        let not_begun = || match night.state {
            State::Queued | State::Running => without(morning_report::Result::Working),
            State::Over | State::Skipped { .. } => left("it was never begun".to_owned()),
        };
        all.push(match progress {
            Progress::Todo => not_begun(),
            Progress::Skipped { reason } => left(reason.clone()),
            Progress::Task { task: id } | Progress::Again { task: id } => {
                let task = match store.task(*id) {
                    Ok(task) => task,
                    // The id was reserved, but the task was never created.
                    Err(store::Error::NoTask(_)) => {
                        all.push(not_begun());
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let workflow = store.definition(*id)?.workflow;
                let legs = since(night, *id, store.legs(*id)?);
                let again = matches!(progress, Progress::Again { .. });
                if again && legs.is_empty() {
                    all.push(left(format!("what was said about the request of {id} was not taken up")));
                    continue;
                }
                let began = legs.iter().find_map(|leg| leg.started);
                let ended = legs.iter().filter_map(|leg| leg.ended).max();
                let took = began.zip(ended).map(|(began, ended)| {
                    Span::from(u64::try_from(ended.since(began).as_millis()).unwrap_or(u64::MAX))
                });
                let entry = morning_report::entry(repository, &task, &workflow, link(&task), took);
                let entry = morning_report::Entry { answers: suggest::answer_commands(&task), ..entry };
                if again { entry.again(used(&legs)) } else { entry }
            }
        });
    }
    Ok(all)
}
