//! Schedules: when each runs next, and the results of its past nights.

use acquit_app::Error;
use acquit_app::schedules::{self, Paused, Scheduled};
use acquit_core::ids::Name;
use acquit_core::night::morning_report::{Entry, Result as Came};
use acquit_core::night::{Cause, Night, State};
use acquit_core::store::Store;
use acquit_core::time::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use serde::Deserialize;

use crate::access::Role;
use crate::page::{Content, Sign};
use crate::shared::Shared;
use crate::words;

/// Number of next runs to show.
const NEXT: usize = 3;
/// Number of past nights of each schedule to show, and of those whose report is shown, too.
const PAST: u32 = 14;
const REPORTS: usize = 7;
/// Number of nights on a page of one schedule, and the maximum number of nights to look through.
const PAGE: usize = 30;
const MOST: u32 = 10_000;

/// Selects a project and a page of nights.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    project: String,
    #[serde(default)]
    page: usize,
}

/// Renders the page of all schedules.
pub fn content(shared: &Shared, store: &mut dyn Store, role: Role) -> Result<Content, Error> {
    let now = store.now()?;
    let places = shared.places(store)?;
    let schedules::All { schedules: all, failed } = schedules::all(&shared.app, store, &places, NEXT, PAST)?;
    let next =
        all.iter().filter(|one| one.paused.is_none()).filter_map(|one| one.next.as_ref().ok()?.first());
    let next = next.map(|(at, _)| *at).min();
    let body = html! {
        div #head .head data-live {
            h1 {
                @match (all.is_empty(), next) {
                    (true, _) => "No schedules",
                    (false, Some(at)) => { "The next night begins in " (words::length(at.since(now))) },
                    (false, None) => "No night will begin",
                }
            }
            p.lede { @if all.is_empty() { "Write one as " code { "[[schedule]]" } " into " code { ".acquit/acquit.toml" } "; docs/nightshift.md shows how." } @else { (words::count(all.len(), "schedule")) ". Nights of a project begin while " code { "acquit serve" } " runs there." } }
        }
        @for (project, error) in &failed { p.panel.panel-body { (Sign::Noted.named()) "Schedules of " b { (words::line(project, 60)) } " are not followed: " (words::text(&error.to_string())) @if let Some(hint) = error.hint() { "; " (words::text(&hint)) } } }
        @for one in &all { (schedule(one, now, role)) }
    };
    Ok(Content { title: "Nights".to_owned(), task: None, body })
}

/// Renders all nights of one schedule, a page at a time, each with its report.
pub fn of_schedule(
    shared: &Shared,
    store: &mut dyn Store,
    name: &Name,
    wanted: &Wanted,
) -> Result<Content, Error> {
    let place = known(shared, store, &wanted.project)?;
    let one = schedules::one(&shared.app, store, place.as_deref(), name, MOST)?;
    let zone = one.zone.as_deref();
    let pages = one.nights.len().div_ceil(PAGE).max(1);
    let page = wanted.page.clamp(1, pages);
    let shown = one.nights.iter().skip((page - 1) * PAGE).take(PAGE);
    let to = |page: usize| format!("/nights/{name}?project={}&page={page}", words::encoded(&wanted.project));
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/nights" { "Nights" } " / " (name) }
        div #head .head data-live { h1 { (words::count(one.nights.len(), "night")) " of " (name) } p.lede { (words::line(&one.project, 60)) @if pages > 1 { " · page " (page) " of " (pages) } } }
        section.panel {
            @if one.nights.is_empty() { p.panel-body.dim { "No night has begun yet." } }
            @for (night, entries) in shown { (report(night, entries, zone)) }
        }
        div.acts { @if page > 1 { a.btn.s href=(to(page - 1)) { "Newer" } } @if page < pages { a.btn.s href=(to(page + 1)) { "Older" } } }
    };
    Ok(Content { title: format!("Nights of {name}"), task: None, body })
}

/// Returns the path of a project that a form names; `None` for the one of this process.
pub fn known(shared: &Shared, store: &mut dyn Store, project: &str) -> Result<Option<String>, Error> {
    if project.is_empty() {
        return Ok(None);
    }
    let places = shared.places(store)?;
    if places.iter().any(|place| place.path == project) {
        return Ok(Some(project.to_owned()));
    }
    let known = places.iter().map(|place| place.path.as_str()).collect::<Vec<_>>().join(", ");
    Err(Error::NoSuch { doing: "find the project", name: project.to_owned(), known })
}

/// Formats a time in the schedule's time zone.
fn local(at: Timestamp, zone: Option<&str>) -> String {
    let zone = zone.map_or_else(TimeZone::system, |name| TimeZone::get(name).unwrap_or(TimeZone::UTC));
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(zone));
    zoned.map(|zoned| zoned.strftime("%a %d %b %H:%M").to_string()).unwrap_or_default()
}

fn schedule(one: &Scheduled, now: Timestamp, role: Role) -> Markup {
    let zone = one.zone.as_deref();
    let project = one.place.as_deref().unwrap_or_default();
    let form = |action: &str, button: Markup| {
        html! { form method="post" action={ "/nights/" (one.name) "/" (action) } { @if !project.is_empty() { input type="hidden" name="project" value=(project); } (button) } }
    };
    html! {
        section.panel id={ "schedule-" (one.name) @if !project.is_empty() { "-" (words::encoded(project)) } } data-live {
            header.panel-head.row {
                h2 { (one.name) @if !one.project.is_empty() { " " span.tag { (words::line(&one.project, 60)) } } }
                p.meta { span { code { (words::line(&one.cron, 60)) } " " (words::line(zone.unwrap_or("this machine's time"), 60)) } span { a href={ "/workflows/" (one.workflow) } { (one.workflow) } } span { @if one.repositories == ["."] { "this repository" } @else { (words::line(&one.repositories.join(", "), 160)) } } }
                div.acts {
                    @if role.may_act() { (form("run", html! { button.btn.s aria-label={ "Run " (one.name) " now" } { "Run now" } })) }
                    @match one.paused {
                        None | Some(Paused::ByPerson) if !role.may_act() => span.hint { @if one.paused.is_some() { "paused" } },
                        None => (form("pause", html! { button.btn.s { "Pause" } })),
                        Some(Paused::ByPerson) => (form("resume", html! { button.btn.s { "Resume" } })),
                        Some(Paused::Configured) => span.hint { "paused by its configuration" },
                    }
                }
            }
            div.scroll tabindex="0" role="region" aria-label={ "Nights of " (one.name) } { table.nights.stacked {
                thead { tr { th scope="col" { "when" } th scope="col" { "category" } th scope="col" { "results" } th.n scope="col" { "time" } th.n scope="col" { "cost" } } }
                tbody {
                    @match &one.next {
                        Err(error) => tr { td colspan="5" { (Sign::Rejected.named()) (words::text(&error.to_string())) } },
                        Ok(next) => @for (at, category) in next.iter().rev() { tr {
                            th scope="row" { (local(*at, zone)) }
                            td { (words::line(category.as_deref().unwrap_or_default(), 60)) }
                            td { @if one.paused.is_some() { (Sign::Waits.named()) "paused" } @else { (Sign::ToCome.named()) "in " (words::length(at.since(now))) } }
                            td {} td {}
                        } },
                    }
                    @for (night, entries) in &one.nights { (past(night, entries, zone)) }
                }
            } }
            @for (night, entries) in one.nights.iter().filter(|(_, entries)| !entries.is_empty()).take(REPORTS) { (report(night, entries, zone)) }
            @if !one.nights.is_empty() { p.panel-body { a href={ "/nights/" (one.name) "?project=" (words::encoded(project)) } { "All nights of " (one.name) " with their reports" } } }
        }
    }
}

fn past(night: &Night, entries: &[Entry], zone: Option<&str>) -> Markup {
    let cost = entries.iter().filter_map(|entry| entry.usage.paid()).reduce(u64::saturating_add);
    let took = night.began.zip(night.ended).map(|(began, ended)| ended.since(began));
    html! {
        tr {
            th scope="row" { (local(night.nominal, zone)) @if night.cause == Cause::Hand { " " span.tag { "by hand" } } }
            td { (words::line(night.category.as_deref().unwrap_or_default(), 60)) }
            td {
                @match &night.state {
                    State::Queued => { (Sign::Queued.named()) "queued" },
                    State::Skipped { reason } => { (Sign::Without.named()) "skipped: " (words::line(reason, 200)) },
                    State::Running | State::Over => {
                        @if night.state == State::Running { (Sign::Runs.named()) "running " }
                        @for (sign, count, word) in counted(entries) { span.w { (sign.named()) (count) " " (word) } " " }
                    },
                }
            }
            td.n { (took.map_or_else(|| "–".to_owned(), words::length)) }
            td.n { (words::cost(cost)) }
        }
    }
}

/// Returns the sign and word for the result of a repository.
fn came(result: &Came) -> (Sign, &'static str) {
    match result {
        Came::Requested { .. } => (Sign::Proven, "pull request"),
        Came::Updated { .. } => (Sign::Proven, "updated"),
        Came::Branch { .. } => (Sign::Proven, "branch"),
        Came::Done => (Sign::Proven, "done"),
        Came::NoImprovement { .. } => (Sign::Without, "without a change"),
        Came::Failed { .. } => (Sign::Rejected, "failed"),
        Came::Waits { .. } => (Sign::Needs, "needs you"),
        Came::Cancelled { .. } => (Sign::Without, "cancelled"),
        Came::Working => (Sign::Runs, "running"),
        Came::Skipped { .. } => (Sign::Without, "skipped"),
    }
}

/// Counts the results by kind.
fn counted(entries: &[Entry]) -> Vec<(Sign, usize, &'static str)> {
    let mut all: Vec<(Sign, usize, &'static str)> = Vec::new();
    for entry in entries {
        let (sign, word) = came(&entry.result);
        match all.iter_mut().find(|(_, _, known)| *known == word) {
            Some((_, count, _)) => *count += 1,
            None => all.push((sign, 1, word)),
        }
    }
    all
}

fn report(night: &Night, entries: &[Entry], zone: Option<&str>) -> Markup {
    html! {
        details.fold.panel-body id={ "night-" (night.schedule) "-" (night.nominal.0) } {
            summary { b { "Report of " (local(night.nominal, zone)) } @if let Some(category) = &night.category { " · " (words::line(category, 60)) } }
            @if let State::Skipped { reason } = &night.state { p.dim { "skipped: " (words::line(reason, 200)) } }
            ul.rows { @for entry in entries { li {
                (came(&entry.result).0.named())
                b { (words::line(&entry.repository, 120)) }
                @if let Some(task) = entry.task { " " a href={ "/tasks/" (task) } { (task) } }
                @if let Some(change) = &entry.change { " " (words::line(change, 200)) }
                p.dim { (entry.result.word()) @if let Some(category) = &entry.category { " · " (words::line(category, 80)) } (why(&entry.result)) " · " (words::usage_cost(&entry.usage)) @if let Some(took) = entry.took { " · " (words::length(took.duration())) } }
            } } }
        }
    }
}

fn why(result: &Came) -> Markup {
    html! {
        @match result {
            Came::Requested { link } | Came::Updated { link } => { " · " (words::line(link, 300)) },
            Came::Branch { name } => { " · " code { (words::line(name, 200)) } },
            Came::Failed { reason } | Came::Skipped { reason } => { " · " (words::line(reason, 300)) },
            Came::Waits { what } => { " · " (words::line(what, 300)) },
            Came::Cancelled { by } => { " by " (words::line(by, 60)) },
            Came::NoImprovement { reasons } => { @for tried in reasons { " · " (words::line(&tried.value, 60)) ": " (words::line(&tried.reason, 200)) } },
            Came::Done | Came::Working => {},
        }
    }
}
