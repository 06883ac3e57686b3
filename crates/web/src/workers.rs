//! Workers: running legs with their machine and process, and legs that wait for a free worker.

use acquit_app::Error;
use acquit_core::store::{Lease, Store};
use maud::html;

use crate::page::{Content, Sign, since};
use crate::shared::Shared;
use crate::words;

/// Maximum number of waiting legs to show.
const MOST: u32 = 100;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store) -> Result<Content, Error> {
    let now = store.now()?;
    let (running, ready) = (store.running()?, store.ready(MOST)?);
    let index = shared.index(store)?;
    let title = |id| index.get(id).map_or_else(String::new, |task| words::line(&task.title, 120));
    let machines: std::collections::BTreeSet<&str> =
        running.iter().filter_map(|(leg, _)| leg.owner.as_ref().map(|owner| owner.host.as_str())).collect();
    let body = html! {
        div #head .head data-live {
            h1 { @if running.is_empty() { "No leg runs" } @else { (words::count(running.len(), "leg")) " running on " (words::count(machines.len(), "machine")) } }
            p.lede { (words::count(ready.len(), "leg")) @if ready.len() == MOST as usize { " or more" } " waiting for a worker." }
        }
        section #running .panel data-live {
            header.panel-head { h2 { "Running" } }
            @if running.is_empty() { p.panel-body.dim { "Nothing." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Running legs" { table {
                    thead { tr { th scope="col" { "task" } th scope="col" { "leg" } th scope="col" { "machine" } th.n scope="col" { "process" } th.n scope="col" { "for" } th scope="col" { "lease" } th.n scope="col" { "cost" } } }
                    tbody { @for (leg, lease) in &running { tr {
                        th scope="row" { a href={ "/tasks/" (leg.id.task) } { (leg.id.task) } " " span.dim { (title(leg.id.task)) } }
                        td { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { (words::heading(&leg.entry)) " " (leg.id.number) } @if leg.cancel { " " span.tag { "stopping" } } }
                        td { @if let Some(owner) = &leg.owner { (words::line(&owner.host, 60)) } }
                        td.n { @if let Some(owner) = &leg.owner { (owner.pid) } }
                        td.n { @if let Some(started) = leg.started { (since(started, now)) } }
                        td { @match lease { Lease::Valid => { (Sign::Proven.named()) "renewed" }, Lease::Expired => { (Sign::Rejected.named()) "expired; the next look declares it lost" } } }
                        td.n { (words::usage_cost(&leg.usage)) }
                    } } }
                } }
            }
        }
        section #ready .panel data-live {
            header.panel-head { h2 { "Waiting for a worker" } p.hint { "in the order in which they are claimed" } }
            @if ready.is_empty() { p.panel-body.dim { "Nothing." } } @else {
                ol.rows { @for leg in &ready { li {
                    @if leg.not_before > now { (Sign::Waits.named()) } @else { (Sign::Queued.named()) }
                    a href={ "/tasks/" (leg.task) } { (leg.task) } " " (title(leg.task))
                    @if leg.not_before > now { span.dim { " · not before " (words::moment(leg.not_before, "%H:%M:%S")) } }
                } } }
            }
        }
    };
    Ok(Content { title: "Workers".to_owned(), task: None, body })
}
