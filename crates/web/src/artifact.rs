//! Pages with a text that a task left behind: a plan, a file, a report of a gate, the raw output of an agent. It is shown
//! as text, whatever it is.

use acquit_app::artifact::{self, Part};
use acquit_app::{App, Error};
use acquit_core::artifact::Artifact;
use acquit_core::ids::{LegId, TaskId};
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Content;
use crate::words;

/// Selects a part of a text.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Wanted {
    from: Option<u64>,
}

/// Renders the page of an artifact.
pub fn content(
    app: &App,
    store: &mut dyn Store,
    id: TaskId,
    index: usize,
    wanted: Wanted,
) -> Result<Option<Content>, Error> {
    let task = store.task(id)?;
    let Some(part) = artifact::read(app, &task, index, wanted.from.unwrap_or(0)) else { return Ok(None) };
    let name = match task.artifacts.get(index) {
        Some(Artifact::Plan { .. }) => "Plan".to_owned(),
        Some(Artifact::File { name, .. }) => words::line(name, 200),
        Some(Artifact::Report { gate, .. }) => format!("Output of the gate {gate}"),
        _ => return Ok(None),
    };
    let address = format!("/tasks/{id}/artifacts/{index}");
    Ok(Some(page(id, &name, &words::line(&task.seed.wish.title, 200), &address, &part)))
}

/// Renders the page of what an agent printed.
pub fn output(
    app: &App,
    store: &mut dyn Store,
    leg: LegId,
    wanted: Wanted,
) -> Result<Option<Content>, Error> {
    let task = store.task(leg.task)?;
    let known = store.legs(leg.task)?.iter().any(|known| known.id == leg);
    let part = artifact::output(app, leg, wanted.from.unwrap_or(0)).filter(|_| known);
    let address = format!("/tasks/{}/legs/{}/output", leg.task, leg.number);
    let name = format!("Output of leg {}", leg.number);
    let title = words::line(&task.seed.wish.title, 200);
    Ok(part.map(|part| page(leg.task, &name, &title, &address, &part)))
}

fn page(id: TaskId, name: &str, title: &str, address: &str, part: &Part) -> Content {
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (id) } { (id) } " / " (name) }
        div.head { h1 { (name) } p.lede { (title) " · " (words::size(part.size)) } }
        section.panel {
            @if part.text.trim().is_empty() { p.panel-body.dim { "It is empty." } } @else { (plain(&part.text)) }
            @if part.next < part.size { p.panel-body { a.btn href={ (address) "?from=" (part.next) } { "Later part" } } }
        }
    };
    Content { title: format!("{name} of {id}"), task: None, body }
}

/// Renders a text of up to a part's length, with invisible characters as codes.
fn plain(text: &str) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label="Text" { pre.panel-body { (acquit_core::prompt::visible(text)) } } }
}
