//! Schedules: when each runs next, and the results of its past nights.

use acquit_app::schedules::{Paused, Scheduled, schedules};
use acquit_app::{App, Error};
use acquit_core::night::morning_report::{Entry, Result as Came};
use acquit_core::night::{Cause, Night, State};
use acquit_core::store::Store;
use acquit_core::time::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use crate::access::Role;
use crate::page::{Content, Sign};
use crate::words;

/// Number of next runs to show.
const NEXT: usize = 3;
/// Number of past nights of each schedule to show.
const PAST: u32 = 30;

/// Renders the page.
pub fn content(app: &App, store: &mut dyn Store, role: Role) -> Result<Content, Error> {
    let now = store.now()?;
    let (all, untrusted) = schedules(app, store, NEXT, PAST)?;
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
            p.lede { @if all.is_empty() { "Write one as " code { "[[schedule]]" } " into " code { ".acquit/acquit.toml" } "; docs/nightshift.md shows how." } @else { (words::count(all.len(), "schedule")) " of the project that this server was started in." } }
        }
        @if let Some(error) = &untrusted { p.panel.panel-body { (Sign::Noted.named()) "The project's own schedules are not followed: " (words::text(&error.to_string())) @if let Some(hint) = error.hint() { "; " (words::text(&hint)) } } }
        @for one in &all { (schedule(one, now, role)) }
    };
    Ok(Content { title: "Nights".to_owned(), task: None, body })
}

/// Formats a time in the schedule's time zone.
fn local(at: Timestamp, zone: Option<&str>) -> String {
    let zone = zone.map_or_else(TimeZone::system, |name| TimeZone::get(name).unwrap_or(TimeZone::UTC));
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(zone));
    zoned.map(|zoned| zoned.strftime("%a %d %b %H:%M").to_string()).unwrap_or_default()
}

fn schedule(one: &Scheduled, now: Timestamp, role: Role) -> Markup {
    let zone = one.zone.as_deref();
    html! {
        section.panel id={ "schedule-" (one.name) } data-live {
            header.panel-head.row {
                h2 { (one.name) }
                p.meta { span { code { (words::line(&one.cron, 60)) } " " (words::line(zone.unwrap_or("this machine's time"), 60)) } span { a href={ "/workflows/" (one.workflow) } { (one.workflow) } } span { @if one.repositories == ["."] { "this repository" } @else { (words::line(&one.repositories.join(", "), 160)) } } }
                div.acts {
                    @if role.may_act() { form method="post" action={ "/nights/" (one.name) "/run" } { button.btn.s aria-label={ "Run " (one.name) " now" } { "Run now" } } }
                    @match one.paused {
                        None | Some(Paused::ByPerson) if !role.may_act() => span.hint { @if one.paused.is_some() { "paused" } },
                        None => form method="post" action={ "/nights/" (one.name) "/pause" } { button.btn.s { "Pause" } },
                        Some(Paused::ByPerson) => form method="post" action={ "/nights/" (one.name) "/resume" } { button.btn.s { "Resume" } },
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
            @for (night, entries) in one.nights.iter().filter(|(_, entries)| !entries.is_empty()).take(7) { (report(night, entries, zone)) }
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
