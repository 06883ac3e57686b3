//! Routes for schedules and their nights.

use acquit_app::serve::{self, Home};
use acquit_core::night::{Record, State as NightState};
use acquit_core::store::{Follow, Nights};
use acquit_core::time::Timestamp;

use super::problem::Problem;
use super::route::{At, Context, Route, get, post};
use super::schema::{answer, input};
use super::types::{Moment, Nothing, Page};

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        get("/schedules", "listSchedules", "List schedules with their next and last nights", schedules),
        get(
            "/schedules/{name}/nights",
            "listNights",
            "List nights of a schedule with their results, newest first",
            nights,
        ),
        post("/schedules/{name}/pause", "pauseSchedule", "Pause a schedule", pause),
        post("/schedules/{name}/resume", "resumeSchedule", "Follow a schedule again", resume),
        post(
            "/schedules/{name}/run",
            "runSchedule",
            "Begin a night of a schedule now; the daemon works on it",
            run,
        ),
    ]
}

/// Maximum number of nights of a schedule to look through.
const NIGHTS: u32 = 10_000;

input! {
    /// Selects nights.
    NightsQuery {
        /// Maximum number of items.
        limit: Option<u32> = { "minimum": 1, "maximum": 500 },
        /// `next` of the previous page.
        cursor: Option<String> = { "pattern": "^[0-9]{1,18}$" },
    }

    /// Options of a night.
    RunSchedule {
        /// Category. Defaults to today's.
        category: Option<String> = { "minLength": 1, "maxLength": 200, "pattern": "^[^\\u0000-\\u001f]*$" },
    }
}

answer! {
    /// A schedule.
    Schedule {
        /// Name.
        name: String,
        /// Cron expression.
        cron: String,
        /// Time zone; null for the server's.
        zone: Option<String>,
        /// Workflow.
        workflow: String,
        /// Repositories.
        repositories: Vec<String>,
        /// Whether it is paused.
        paused: bool,
        /// Time of the next run; null if it is paused.
        next: Option<Moment>,
        /// Newest night.
        last: Option<Night>,
    }

    /// One run of a schedule.
    Night {
        /// Schedule name.
        schedule: String,
        /// Scheduled time.
        at: Moment,
        /// State: queued, running, over or skipped.
        state: String,
        /// Why it was skipped.
        reason: Option<String>,
        /// Category.
        category: Option<String>,
        /// When work began.
        began: Option<Moment>,
        /// When all work ended.
        ended: Option<Moment>,
        /// Result of each repository.
        results: Vec<NightResult>,
    }

    /// The result of a night in a repository.
    NightResult {
        /// Repository.
        repository: String,
        /// Task id.
        task: Option<String>,
        /// Result in one word.
        outcome: String,
        /// URL of the pull request.
        url: Option<String>,
        /// Branch, if there is no pull request.
        branch: Option<String>,
        /// Category of the work.
        category: Option<String>,
        /// Why there is no change.
        reason: Option<String>,
        /// Cost in millionths of a dollar.
        cost_micros: Option<u64>,
    }

    /// A schedule that was paused or resumed.
    ScheduleState {
        /// Name.
        name: String,
        /// Whether it is paused.
        paused: bool,
    }
}

fn schedules(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Vec<Schedule>, Problem> {
    let home = Home::look(cx.app)?;
    let now = cx.store.now()?;
    let mut all = Vec::new();
    for schedule in &home.config.schedules {
        let standing = cx.store.schedule(&home.project(), &schedule.name)?;
        let paused = schedule.paused || standing.paused.is_some();
        let last = cx.store.nights(&Nights::Of(home.project(), schedule.name.clone()), 1)?;
        let last = last.first().map(|night| shown(cx, &home, night)).transpose()?;
        let zone = serve::zone(schedule).ok().filter(|_| !paused);
        let next = zone.and_then(|zone| schedule.upcoming(now, &zone, 1).into_iter().next());
        all.push(Schedule {
            name: schedule.name.to_string(),
            cron: schedule.cron.to_string(),
            zone: schedule.zone.clone(),
            workflow: schedule.workflow.to_string(),
            repositories: serve::repositories(schedule),
            paused,
            next: next.map(|(at, _)| at.into()),
            last,
        });
    }
    Ok(all)
}

fn nights(cx: &mut Context<'_>, at: &At, query: NightsQuery) -> Result<Page<Night>, Problem> {
    let home = Home::look(cx.app)?;
    let name = at.name()?;
    home.schedule(&name)?;
    let limit = query.limit.unwrap_or(50) as usize;
    let before = query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).map(Timestamp);
    // Without a cursor, the store gives one more than the page has.
    let most = if before.is_some() { NIGHTS } else { query.limit.unwrap_or(50) + 1 };
    let mut nights = cx.store.nights(&Nights::Of(home.project(), name), most)?;
    nights.retain(|night| before.is_none_or(|before| night.nominal < before));
    let next =
        nights.get(limit - 1).filter(|_| nights.len() > limit).map(|night| night.nominal.0.to_string());
    let items = nights.iter().take(limit).map(|night| shown(cx, &home, night)).collect::<Result<_, _>>()?;
    Ok(Page { items, next })
}

fn shown(cx: &mut Context<'_>, home: &Home, night: &acquit_core::night::Night) -> Result<Night, Problem> {
    let entries = serve::report(cx.store, home, night)?;
    let own = |text: Option<&str>| text.map(str::to_owned);
    let result = |record: Record<'_>| NightResult {
        repository: record.repository.to_owned(),
        task: record.task.map(|task| task.to_string()),
        outcome: record.outcome.to_owned(),
        url: own(record.url),
        branch: own(record.branch),
        category: own(record.category),
        reason: record.reason.clone(),
        cost_micros: record.cost_micros,
    };
    let reason = match &night.state {
        NightState::Skipped { reason } => Some(reason.clone()),
        NightState::Queued | NightState::Running | NightState::Over => None,
    };
    Ok(Night {
        schedule: night.schedule.to_string(),
        at: night.nominal.into(),
        state: night.state.word().to_owned(),
        reason,
        category: night.category.clone(),
        began: night.began.map(Moment::from),
        ended: night.ended.map(Moment::from),
        results: entries.iter().map(|entry| result(Record::from(entry))).collect(),
    })
}

fn pause(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<ScheduleState, Problem> {
    follow(cx, at, Follow::No)
}

fn resume(cx: &mut Context<'_>, at: &At, _: Nothing) -> Result<ScheduleState, Problem> {
    follow(cx, at, Follow::Yes)
}

fn run(cx: &mut Context<'_>, at: &At, how: RunSchedule) -> Result<Night, Problem> {
    let home = Home::read(cx.app)?.trusted()?;
    let (night, _) = serve::begin_by_hand(cx.store, &home, &at.name()?, how.category)?;
    shown(cx, &home, &night)
}

fn follow(cx: &mut Context<'_>, at: &At, follow: Follow) -> Result<ScheduleState, Problem> {
    let home = Home::look(cx.app)?;
    let name = at.name()?;
    let written = home.schedule(&name)?.paused;
    cx.store.follow(&home.project(), &name, follow)?;
    Ok(ScheduleState { name: name.to_string(), paused: written || follow == Follow::No })
}
