//! Compares agents: how often their work was proven, its cost, and the number of cases behind each figure.

use std::collections::BTreeMap;

use acquit_app::Error;
use acquit_app::figures::{Compared, Performance, Rate, week};
use acquit_core::store::Store;
use acquit_core::time::Timestamp;
use maud::{Markup, html};

use crate::costs::Wanted;
use crate::page::Content;
use crate::shared::Shared;
use crate::words;

/// With fewer tasks than this, a rate is not meaningful enough to compare.
const FEW: u64 = 10;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let now = store.now()?;
    let (key, length, since) = wanted.time(now);
    let index = shared.index(store)?;
    let Compared { agents, weeks } = shared.sums().agents.sum(&index, wanted.selection(since), now);
    let form = wanted.form("/agents", &index, key);
    drop(index);
    let mut all: Vec<((String, String), Performance)> = agents.into_iter().collect();
    all.sort_by_key(|(name, one)| {
        (one.tasks < FEW, std::cmp::Reverse(one.done * 1_000 / one.tasks.max(1)), name.clone())
    });
    let best = all.iter().find(|(_, one)| one.tasks >= FEW);
    let body = html! {
        div #head .head data-live {
            h1 {
                @match best {
                    Some(((agent, model), one)) => { (words::line(agent, 60)) " with " (words::line(model, 60)) " proved " (one.done) " of " (one.tasks) " tasks" },
                    None => "Too few tasks to compare agents",
                }
            }
            p.lede { "Tasks of " (length) " that are over, without those that a person cancelled. A task counts for the agent and model that first wrote its change." }
        }
        (form)
        section #compared .panel data-live {
            header.panel-head.row { h2 { "Agents compared" } p.hint { "the mark is what was seen, the band its 95 % interval" } }
            @if all.is_empty() { p.panel-body.dim { "No task with an agent is over in this time." } } @else { (table(&all)) }
            p.panel-body.hint { "Where bands overlap, the rates may be the same. Fewer than " (FEW) " tasks are too few to say." }
        }
        section #weeks .panel data-live {
            header.panel-head.row { h2 { "By week" } p.hint { "proven of finished tasks, by the week in which they were added" } }
            @if all.is_empty() { p.panel-body.dim { "No task with an agent is over in this time." } } @else { (by_week(&all, &weeks, since, now)) }
        }
    };
    Ok(Content { title: "Agents".to_owned(), task: None, body })
}

/// Proven and finished tasks by week.
type Weeks = BTreeMap<i64, (u64, u64)>;

/// Renders the trend: proven of finished tasks for each week.
fn by_week(
    all: &[((String, String), Performance)],
    weeks: &BTreeMap<(String, String), Weeks>,
    since: Timestamp,
    now: Timestamp,
) -> Markup {
    let columns: Vec<i64> = (week(since)..=week(now)).collect();
    let monday = |week: i64| words::moment(Timestamp((week * 7 - 3) * 86_400_000 + 43_200_000), "%d %b");
    let of = |name: &(String, String), week: i64| weeks.get(name).and_then(|weeks| weeks.get(&week)).copied();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Agents by week" { table.weeks {
            thead { tr { th scope="col" { "agent and model" } @for week in &columns { th.n scope="col" { (monday(*week)) } } } }
            tbody { @for (name, _) in all { tr {
                th scope="row" { (words::line(&name.0, 60)) " " span.dim { (words::line(&name.1, 60)) } }
                @for week in &columns { td.n { @match of(name, *week) { Some((done, count)) => { (done) " of " (count) (words::meter(done, count)) }, None => { span.dim { "–" } } } } }
            } } }
        } }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// Formats a rate with its number of cases.
fn rate(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{} % of {}", percent(rate.seen), rate.cases))
}

fn table(all: &[((String, String), Performance)]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Agents compared, listed" { table.compared {
            thead { tr { th scope="col" { "agent and model" } th.n scope="col" { "tasks" } th.n scope="col" { "proven" } th scope="col" { "0 to 100 %" } th.n scope="col" { "gates at first try" } th.n scope="col" { "fixes per task" } th.n scope="col" { "median time" } th.n scope="col" { "cost per proven change" } } }
            tbody { @for ((agent, model), one) in all { tr.few[one.tasks < FEW] {
                th scope="row" { (words::line(agent, 60)) " " span.dim { (words::line(model, 60)) } }
                td.n { (one.tasks) }
                td.n { (rate(one.rate())) }
                td.share { @if one.tasks < FEW { span.dim { "too few to say" } } @else if let Some(rate) = one.rate() { (band(rate)) } }
                td.n { (rate_of_first(one)) }
                td.n { (each(one.fixes, one.tasks)) }
                td.n { (one.median().map_or_else(|| "–".to_owned(), words::length)) }
                td.n { (words::cost(one.cost_each().filter(|cost| *cost > 0))) }
            } } }
        } }
    }
}

fn rate_of_first(one: &Performance) -> String {
    rate(one.first_rate())
}

/// Formats a number per task with one digit.
fn each(count: u64, tasks: u64) -> String {
    (count * 10 + tasks / 2)
        .checked_div(tasks)
        .map_or_else(|| "–".to_owned(), |tenths| format!("{}.{}", tenths / 10, tenths % 10))
}

/// Draws the observed rate with its confidence interval.
fn band(rate: Rate) -> Markup {
    html! {
        svg.ci height="16" role="img" aria-label={ (percent(rate.seen)) " %, between " (percent(rate.low)) " and " (percent(rate.high)) " %" } {
            line.base x1="0" y1="8" x2="100%" y2="8" {}
            rect.light x={ (percent(rate.low)) "%" } y="4" width={ (percent(rate.high - rate.low)) "%" } height="8" rx="3" {}
            rect.mid x={ (format!("{:.1}", (rate.seen * 100.0 - 0.7).clamp(0.0, 98.5))) "%" } y="1" width="1.5%" height="14" rx="2" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_per_task_is_rounded() {
        assert_eq!([each(1, 2), each(9, 10), each(2, 3), each(0, 0)], ["0.5", "0.9", "0.7", "–"]);
    }
}
