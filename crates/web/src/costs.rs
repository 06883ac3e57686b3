//! What tasks cost and how they ended, by workflow, agent and model.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_app::stats::{self, Group, Which};
use acquit_app::{App, Error};
use acquit_core::store::Store;
use acquit_core::time::Span;
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Content;
use crate::words;

/// At most so many tasks are counted, the newest first.
const MOST: u32 = 1_000;
/// The lengths of time that can be chosen.
const SINCE: [&str; 4] = ["1d", "7d", "30d", "90d"];

/// What is to be counted.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    since: Option<String>,
}

/// The page.
pub fn content(app: &App, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let since = wanted.since.as_deref().filter(|since| SINCE.contains(since)).unwrap_or("7d");
    let stats =
        stats::stats(app, store, Which { all_projects: true, since: Span::parse(since), limit: MOST })?;
    let done: u64 = stats.workflows.values().map(|group| group.succeeded).sum();
    let each =
        stats.cost_micros.zip(Some(done)).filter(|(_, done)| *done > 0).map(|(cost, done)| cost / done);
    let body = html! {
        div #head .head data-live {
            h1 {
                @match (each, done) {
                    (Some(each), _) => { (words::cost(Some(each))) " for each finished task" },
                    (None, 0) => "No task finished in this time",
                    (None, done) => { (words::count(usize::try_from(done).unwrap_or(usize::MAX), "task")) " finished; no agent told a price" },
                }
            }
            p.lede {
                (stats.tasks) " tasks in the last " (since) ", " (done) " finished, "
                (words::usage_cost(&stats.usage)) " in all"
                @if stats.more { " (the newest " (MOST) " tasks)" } "."
            }
        }
        nav.acts aria-label="Time" { @for one in SINCE { a.btn.s href={ "/costs?since=" (one) } aria-current=[(one == since).then_some("true")] { (one) } } }
        div #figures data-live {
            (table("By workflow", "tasks", &stats.workflows))
            (table("By agent", "legs", &stats.agents))
            (table("By model", "legs", &stats.models))
        }
    };
    Ok(Content { title: "Costs".to_owned(), task: None, body })
}

fn table(heading: &str, noun: &str, groups: &BTreeMap<String, Group>) -> Markup {
    let most = groups.values().filter_map(|group| group.cost_micros).max().unwrap_or(0).max(1);
    let share = |group: &Group| group.cost_micros.unwrap_or(0).saturating_mul(100) / most;
    let rate = |group: &Group| {
        let ended = group.succeeded + group.failed;
        (ended > 0).then(|| format!("{} % of {ended}", (group.succeeded * 100 + ended / 2) / ended))
    };
    html! {
        section.panel {
            header.panel-head { h2 { (heading) } }
            @if groups.is_empty() { p.panel-body.dim { "Nothing yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label=(heading) { table {
                    thead { tr { th { "name" } th.n { (noun) } th.n { "succeeded" } th.n { "time" } th.n { "tokens" } th.n { "cost" } th { span.sr { "share" } } } }
                    tbody {
                        @for (name, group) in groups {
                            tr {
                                th scope="row" { (words::line(name, 80)) }
                                td.n { (group.count) }
                                td.n { (rate(group).unwrap_or_else(|| "–".to_owned())) }
                                td.n { (words::length(Duration::from_millis(group.ran_millis))) }
                                td.n { (words::tokens(group.usage.tokens())) }
                                td.n { (words::usage_cost(&group.usage)) }
                                td.share { svg width="100%" height="8" aria-hidden="true" { rect.bar-fill width={ (share(group)) "%" } height="8" rx="2" {} } }
                            }
                        }
                    }
                } }
            }
        }
    }
}
