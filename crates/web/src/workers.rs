//! Workers: the machines that run legs, running legs with their machine and process, and why a leg waits.

use acquit_app::Error;
use acquit_app::workers::{Shown, Standing, Waiting, look};
use acquit_core::fleet::Need;
use acquit_core::ids::TaskId;
use acquit_core::store::{Lease, Store};
use acquit_core::time::Timestamp;
use maud::{Markup, html};

use crate::page::{Content, Sign, since};
use crate::shared::Shared;
use crate::words;

/// Maximum number of waiting legs to show.
const MOST: usize = 100;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store) -> Result<Content, Error> {
    let now = store.now()?;
    let (running, fleet) = (store.running()?, look(store)?);
    let index = shared.index(store)?;
    let title = |id: TaskId| index.get(id).map_or_else(String::new, |task| words::line(&task.title, 120));
    let machines: std::collections::BTreeSet<&str> =
        running.iter().filter_map(|(leg, _)| leg.owner.as_ref().map(|owner| owner.host.as_str())).collect();
    let body = html! {
        div #head .head data-live {
            h1 { @if running.is_empty() { "No leg runs" } @else { (words::count(running.len(), "leg")) " running on " (words::count(machines.len(), "machine")) } }
            p.lede {
                (words::count(fleet.waiting.len(), "leg")) " waiting to be claimed. "
                @if fleet.workers.is_empty() { "No " code { "acquit worker" } " has reported; this server's machine runs the legs." } @else { (words::count(fleet.workers.iter().filter(|worker| worker.standing == Standing::Working).count(), "worker")) " working." }
            }
        }
        @if !fleet.workers.is_empty() { section #workers .panel data-live { header.panel-head { h2 { "Workers" } p.hint { "each " code { "acquit worker" } " on this store" } } (workers(&fleet.workers, now)) } }
        section #running .panel data-live {
            header.panel-head { h2 { "Running" } }
            @if running.is_empty() { p.panel-body.dim { "Nothing." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Running legs" { table {
                    thead { tr { th scope="col" { "task" } th scope="col" { "leg" } th scope="col" { "worker" } th scope="col" { "machine" } th.n scope="col" { "process" } th.n scope="col" { "for" } th scope="col" { "lease" } th.n scope="col" { "cost" } } }
                    tbody { @for (leg, lease) in &running { tr {
                        th scope="row" { a href={ "/tasks/" (leg.id.task) } { (leg.id.task) } " " span.dim { (title(leg.id.task)) } }
                        td { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { (words::heading(&leg.entry)) " " (leg.id.number) } @if leg.cancel { " " span.tag { "stopping" } } }
                        td { @if let Some(name) = leg.owner.as_ref().and_then(|owner| owner.worker.as_deref()) { (words::line(name, 60)) } @else { span.dim { "acquit serve or run" } } }
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
            header.panel-head { h2 { "Waiting to be claimed" } p.hint { "in the order in which they are claimed" } }
            @if fleet.waiting.is_empty() { p.panel-body.dim { "Nothing." } } @else {
                ol.rows { @for leg in fleet.waiting.iter().take(MOST) { (waiting(leg, &title(leg.leg.task), !fleet.workers.is_empty(), now)) } }
                @if fleet.waiting.len() > MOST { p.panel-body.dim { (fleet.waiting.len() - MOST) " more." } }
            }
        }
    };
    Ok(Content { title: "Workers".to_owned(), task: None, body })
}

fn sign_of(standing: Standing) -> Sign {
    match standing {
        Standing::Working => Sign::Runs,
        Standing::Stopping | Standing::Outdated | Standing::Idle => Sign::Waits,
        Standing::Silent | Standing::Full => Sign::Rejected,
    }
}

/// Renders the workers with what they have.
fn workers(all: &[Shown], now: Timestamp) -> Markup {
    let label = |need: &Need| match need {
        Need::Label(label) => Some(words::line(label, 60)),
        Need::Agent(_) | Need::Secret(_) | Need::Repository(_) | Need::Home(_) => None,
    };
    let agent = |need: &Need| match need {
        Need::Agent(agent) => Some(words::line(agent, 60)),
        Need::Label(_) | Need::Secret(_) | Need::Repository(_) | Need::Home(_) => None,
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Workers, listed" { table {
            thead { tr { th scope="col" { "worker" } th scope="col" { "state" } th.n scope="col" { "legs" } th scope="col" { "labels" } th scope="col" { "agents" } th scope="col" { "machine" } th scope="col" { "version" } th.n scope="col" { "last report" } } }
            tbody { @for Shown { seen, standing, running } in all { @let worker = &seen.worker; tr {
                th scope="row" { (words::line(&worker.name, 60)) }
                td { (sign_of(*standing).bare()) " " (standing.name()) }
                td.n { (running) " of " (worker.slots) }
                td { @for label in worker.offers.iter().filter_map(label) { span.tag { (label) } " " } }
                td { (worker.offers.iter().filter_map(agent).collect::<Vec<_>>().join(", ")) }
                td { (words::line(&worker.host, 60)) }
                td { (words::line(&worker.version, 30)) }
                td.n { (since(seen.seen, now)) " ago" }
            } } }
        } }
    }
}

/// Renders a waiting leg. With workers, also why none of them takes it.
fn waiting(leg: &Waiting, title: &str, explained: bool, now: Timestamp) -> Markup {
    html! {
        li {
            (Sign::Queued.named())
            a href={ "/tasks/" (leg.leg.task) } { (leg.leg.task) } " " (title) " "
            span.dim { (words::line(&leg.stage, 60)) " · for " (since(leg.since, now)) }
            @if explained && !leg.fits.is_empty() { span.dim { " · for a free slot of " (words::line(&leg.fits.join(", "), 200)) } }
            @if explained && !leg.why.is_empty() { span.said { (words::line(&leg.why.join("; "), 400)) } }
        }
    }
}
