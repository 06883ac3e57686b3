//! All settings in effect, with the file and line that set them.

use acquit_app::Error;
use acquit_app::settings::{Run, Setting, settings};
use acquit_core::store::Store;
use maud::html;
use serde::Deserialize;

use crate::page::{Content, Sign};
use crate::shared::Shared;
use crate::words;

/// Selects the repository.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    project: String,
}

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let (app, places) = (&shared.app, shared.places(store)?);
    let place = places.iter().find(|place| place.path == wanted.project).or_else(|| places.first());
    // The page shows errors of files that cannot be read.
    let read = place.map(|place| {
        let source = acquit_run::git::Source::discover(&app.runtime.git, std::path::Path::new(&place.path))?;
        settings(&app.files(&source)?, &Run::default())
    });
    let all: &[Setting] = match &read {
        Some(Ok(all)) => all,
        _ => &[],
    };
    let own = all.iter().filter(|setting| setting.file.is_some()).count();
    let body = html! {
        div.head {
            h1 { @match place { Some(place) => { (words::line(&place.name, 60)) ": " (words::count(own, "setting")) " of its own" }, None => "No repository" } }
            p.lede { @if let Some(place) = place { code { (words::line(&place.path, 300)) } " · " } (all.len() - own) " more as they are built in. Change them in the file; a running task keeps what it was added with." }
        }
        @if places.len() > 1 { nav.tabs aria-label="Repositories" { @for other in &places {
            a href={ "/settings?project=" (words::encoded(&other.path)) } aria-current=[place.is_some_and(|place| place.path == other.path).then_some("page")] title=(words::line(&other.path, 300)) { (words::line(&other.name, 60)) }
        } } }
        @if let Some(Err(error)) = &read { p.panel.panel-body { (Sign::Rejected.named()) "Failed to " (words::text(&acquit_run::harness::chain(error))) @if let Some(hint) = error.hint() { "; " (words::text(&hint)) } } }
        section.panel {
            div.scroll tabindex="0" role="region" aria-label="Settings" { table.settings {
                thead { tr { th scope="col" { "key" } th scope="col" { "value" } th scope="col" { "from" } } }
                tbody { @for setting in all { tr.dim[setting.file.is_none()] {
                    th scope="row" { code { (words::line(&setting.key, 200)) } }
                    td { code { (words::line(&shown(&setting.value), 300)) } }
                    td { (setting.origin) @if let Some(file) = &setting.file { " · " (words::line(&file.to_string_lossy(), 200)) @if let Some(line) = setting.line { ":" (line) } } }
                } } }
            } }
        }
    };
    Ok(Content { title: "Settings".to_owned(), task: None, body })
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
