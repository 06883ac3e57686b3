//! Cost of tasks: by day, project, workflow, agent and model, and the most expensive tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_app::Error;
use acquit_app::figures::{Bill, Costs, Selection, midnight};
use acquit_app::index::{Named, TaskIndex};
use acquit_core::store::Store;
use acquit_core::time::{Span, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Content;
use crate::shared::Shared;
use crate::words;

/// Selectable periods.
pub const SINCE: [(&str, &str); 4] =
    [("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days")];

/// Selects what to count.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Period.
    pub since: String,
    /// Project.
    pub project: String,
    /// Workflow.
    pub workflow: String,
}

impl Wanted {
    /// Returns the selected period: its name, its description and its start.
    pub fn time(&self, now: Timestamp) -> (&'static str, &'static str, Timestamp) {
        let (key, words) =
            SINCE.into_iter().find(|(key, _)| *key == self.since).unwrap_or(("30d", "30 days"));
        let length = Span::parse(key).map_or(Duration::ZERO, Span::duration);
        (key, words, Timestamp(now.0 - i64::try_from(length.as_millis()).unwrap_or(0)))
    }

    /// Renders the form that changes the selection.
    pub fn form(&self, address: &str, index: &TaskIndex, chosen: &str) -> Markup {
        let names = |named| index.names(named).map(|(name, _)| name).take(500).collect::<Vec<_>>();
        let (projects, workflows) = (names(Named::Project), names(Named::Workflow));
        let select = |name: &str, all: &[&str], held: &str| {
            html! { label { span.sr { (name) } select name=(name) { option value="" { "All " (name) "s" } @for one in all { option value=(one) selected[*one == held] { (words::line(one, 60)) } } } } }
        };
        html! {
            form.filter method="get" action=(address) {
                (select("project", &projects, &self.project))
                (select("workflow", &workflows, &self.workflow))
                label { span.sr { "time" } select name="since" { @for (key, words) in SINCE { option value=(key) selected[key == chosen] { (words) } } } }
                button.btn { "Show" }
            }
        }
    }

    /// Returns the tasks to count.
    pub fn selection(&self, since: Timestamp) -> Selection<'_> {
        Selection { since, project: &self.project, workflow: &self.workflow, all_open: false }
    }
}

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let now = store.now()?;
    let (key, length, since) = wanted.time(now);
    let index = shared.index(store)?;
    let costs = shared.sums().costs.sum(&index, wanted.selection(since), now);
    let form = wanted.form("/costs", &index, key);
    drop(index);
    let (all, done) = (&costs.all, costs.all.succeeded);
    let today = costs.days.get(&midnight(now)).map_or(0, Bill::cost);
    let vain = all.cost().saturating_sub(all.proven_micros);
    let body = html! {
        div #head .head data-live {
            h1 {
                @match (all.cost().checked_div(done), done) {
                    (Some(each), _) if all.cost() > 0 => { (words::cost(Some(each))) " for each proven change" },
                    (_, 0) => "No task finished in this time",
                    (_, done) => { (words::count(usize::try_from(done).unwrap_or(usize::MAX), "task")) " finished; no agent told a price" },
                }
            }
            p.lede { (words::cost(Some(all.cost()))) " in " (length) " for " (words::count(usize::try_from(all.count).unwrap_or(usize::MAX), "task")) ", " (done) " of them proven. What was spent in vain is counted in." }
        }
        (form)
        dl #stats .stats data-live {
            div.panel { dt { "Today" } dd { (words::cost(Some(today))) } }
            div.panel { dt { (length) } dd { (words::cost(Some(all.cost()))) } dd.small { (words::tokens(all.usage.tokens())) " tokens" } }
            div.panel { dt { "Proven" } dd { (done) " of " (costs.over) } dd.small { "finished tasks, without cancelled ones" } }
            div.panel { dt { "Not proven" } dd { (share(vain, all.cost())) } dd.small { "of what was spent: not accepted, cancelled, or not over" } (words::meter(vain, all.cost())) }
        }
        section.panel { header.panel-head.row { h2 { "By day" } p.hint { span.key.solid {} " for proven changes " span.key.light {} " not accepted, or not over" } } div #days .panel-body data-live { (days(&costs, since, now)) } }
        div.halves {
            (table("By project", "tasks", &costs.projects))
            (table("By workflow", "tasks", &costs.workflows))
            (table("By agent", "legs", &costs.agents))
            (table("By model", "legs", &costs.models))
        }
        (dearest(&costs))
        p { a href="/agents" { "Compare agents" } }
    };
    Ok(Content { title: "Costs".to_owned(), task: None, body })
}

fn share(part: u64, whole: u64) -> String {
    (part * 100).checked_div(whole).map_or_else(|| "–".to_owned(), |percent| format!("{percent} %"))
}

/// Draws a bar for each day.
fn days(costs: &Costs, since: Timestamp, now: Timestamp) -> Markup {
    const DAY: i64 = 86_400_000;
    // A day has 23 to 25 hours, so start from the middle of each day.
    let first = midnight(since);
    let count = usize::try_from((now.0 - first.0) / DAY + 1).unwrap_or(1).min(92);
    let moments: Vec<Timestamp> = (0..count)
        .map(|day| midnight(Timestamp(first.0 + DAY * i64::try_from(day).unwrap_or(0) + DAY / 2)))
        .collect();
    let bill = |day: &Timestamp| costs.days.get(day).cloned().unwrap_or_default();
    let most = moments.iter().map(|day| bill(day).cost()).max().unwrap_or(0).max(1);
    let tall = |cost: u64| 96 * cost / most;
    let wide = 100.0 / f64::from(u32::try_from(count).unwrap_or(1));
    html! {
        p.axis { span { (words::cost(Some(most).filter(|most| *most > 1))) } }
        svg.bars height="104" role="img" aria-label={ "Cost by day, at most " (words::cost(Some(most))) } {
            @for y in ["4", "52", "100"] { line.base x1="0" y1=(y) x2="100%" y2=(y) {} }
            @for (place, day) in moments.iter().enumerate() {
                @let bill = bill(day);
                @let x = format!("{:.2}%", wide * (f64::from(u32::try_from(place).unwrap_or(0)) + 0.1));
                @let width = format!("{:.2}%", wide * 0.8);
                rect.light x=(x) y=(100 - tall(bill.cost())) width=(width) height=(tall(bill.cost())) { title { (words::moment(*day, "%d %b")) ": " (words::cost(Some(bill.cost()))) } }
                rect.solid x=(x) y=(100 - tall(bill.proven_micros)) width=(width) height=(tall(bill.proven_micros)) {}
            }
        }
        p.axis { span { (words::moment(first, "%d %b")) } span { "today" } }
    }
}

fn table(heading: &str, noun: &str, groups: &BTreeMap<String, Bill>) -> Markup {
    let most = groups.values().map(Bill::cost).max().unwrap_or(0).max(1);
    let mut all: Vec<(&String, &Bill)> = groups.iter().collect();
    all.sort_by_key(|(name, bill)| (std::cmp::Reverse(bill.cost()), (*name).clone()));
    html! {
        section.panel id={ (heading.to_lowercase().replace(' ', "-")) } data-live {
            header.panel-head { h2 { (heading) } }
            @if groups.is_empty() { p.panel-body.dim { "Nothing yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label=(heading) { table.slim {
                    thead { tr { th scope="col" { "name" } th.n scope="col" { (noun) } th.n scope="col" { "time" } th.n.wordy scope="col" { "tokens" } th.n scope="col" { "cost" } th scope="col" { span.key.solid {} " proven " span.key.light {} " not" } } }
                    tbody { @for (name, bill) in all.into_iter().take(50) { tr {
                        th scope="row" { (words::line(name, 80)) }
                        td.n { (bill.count) }
                        td.n { (words::length(Duration::from_millis(bill.ran_millis))) }
                        td.n.wordy { (words::tokens(bill.usage.tokens())) }
                        td.n { (words::usage_cost(&bill.usage)) }
                        td.share { svg.meter width="100%" height="8" aria-hidden="true" { rect.light width={ (bill.cost() * 100 / most) "%" } height="8" {} rect.solid width={ (bill.proven_micros * 100 / most) "%" } height="8" {} } }
                    } } }
                } }
            }
        }
    }
}

fn dearest(costs: &Costs) -> Markup {
    html! {
        @if !costs.dearest.is_empty() {
            section #dearest .panel data-live {
                header.panel-head { h2 { "Most expensive tasks" } }
                div.scroll tabindex="0" role="region" aria-label="Most expensive tasks" { table.slim {
                    thead { tr { th scope="col" { "task" } th scope="col" { "title" } th.n scope="col" { "cost" } th.n scope="col" { "limit" } th.wordy scope="col" { "of its limit" } } }
                    tbody { @for task in &costs.dearest { tr {
                        th scope="row" { a href={ "/tasks/" (task.id) } { (task.id) } } td { (words::line(&task.title, 160)) } td.n { (words::usage_cost(&task.usage)) } td.n { (words::cost(task.limit)) }
                        td.share.wordy { @if let Some(limit) = task.limit { (words::meter(task.usage.paid().unwrap_or(0), limit)) } }
                    } } }
                } }
            }
        }
    }
}
