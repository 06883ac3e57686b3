//! All settings in effect, with the file and line that set them.

use acquit_app::Error;
use acquit_app::settings::{Run, Setting, is_amount, settings};
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
    let home = app.surroundings.user_home.as_deref();
    // Files of the repository are named as in the repository.
    let from = |file: &std::path::Path| {
        let inside = place.and_then(|place| file.strip_prefix(&place.path).ok());
        words::path(&inside.unwrap_or(file).to_string_lossy(), home)
    };
    let own = all.iter().filter(|setting| setting.file.is_some()).count();
    let body = html! {
        div.head {
            h1 { @match place { Some(place) => { (words::line(&place.name, 60)) ": " (words::count(own, "setting")) " of its own" }, None => "No repository" } }
            p.lede { @if let Some(place) = place { code { (words::path(&place.path, home)) } " · " } (all.len() - own) " more as they are built in. Change them in the file; a running task keeps what it was added with." }
        }
        @if places.len() > 1 { nav.tabs aria-label="Repositories" { @for other in &places {
            a href={ "/settings?project=" (words::encoded(&other.path)) } aria-current=[place.is_some_and(|place| place.path == other.path).then_some("page")] title=(words::line(&other.path, 300)) { (words::line(&other.name, 60)) }
        } } }
        @if let Some(Err(error)) = &read { p.panel.panel-body { (Sign::Rejected.named()) "Failed to " (words::text(&acquit_run::harness::chain(error))) @if let Some(hint) = error.hint() { "; " (words::text(&hint)) } } }
        section.panel {
            div.scroll tabindex="0" role="region" aria-label="Settings" { table.settings.stacked {
                thead { tr { th scope="col" { "key" } th scope="col" { "value" } th scope="col" { "from" } } }
                tbody { @for setting in all { tr.dim[setting.file.is_none()] {
                    th scope="row" { code { (words::line(&setting.key, 200)) } }
                    td { code { (words::line(&shown(&setting.key, &setting.value), 300)) } }
                    td { (setting.origin) @if let Some(file) = &setting.file { " · " (from(file)) @if let Some(line) = setting.line { ":" (line) } } }
                } } }
            } }
        }
    };
    Ok(Content { title: "Settings".to_owned(), task: None, body })
}

/// Formats a value: an amount of money with its sign and cents, anything else as files state it.
fn shown(key: &str, value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        amount if is_amount(key) => {
            let amount = amount.to_string();
            let (dollars, cents) = amount.split_once('.').unwrap_or((&amount, ""));
            format!("${dollars}.{cents:0<2}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_have_their_sign_and_other_values_are_as_files_state_them() {
        let all = [
            ("max_cost", json!(5), "$5.00"),
            ("stages.code.max_cost", json!(0.5), "$0.50"),
            ("prices.mine.input", json!(0.075), "$0.075"),
            ("waiting.longest", json!("1d"), "1d"),
            ("limits.processes", json!(1_024), "1024"),
            ("access.write", json!([1]), "[1]"),
        ];
        for (key, value, wanted) in all {
            assert_eq!(shown(key, &value), wanted, "{key}");
        }
    }
}
