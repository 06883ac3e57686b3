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

/// Last parts of keys whose values are lengths of time, in milliseconds.
const TIMES: [&str; 5] = ["longest", "slack", "timeout", "unfinished", "idle"];
/// Last part of keys whose values are amounts of money, in millionths of a dollar.
const MONEY: &str = "max_cost";
/// Keys whose values are sizes, in bytes.
const SIZES: [&str; 2] = ["limits.memory", "limits.disk"];

/// Formats a value: sizes and lengths of time with the largest unit that has no fraction.
fn shown(key: &str, value: &serde_json::Value) -> String {
    const MILLISECONDS: [(u64, &str); 4] =
        [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    const BYTES: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = |number: u64| move |(unit, _): &&(u64, &str)| number >= *unit && number.is_multiple_of(*unit);
    let last = key.rsplit('.').next().unwrap_or_default();
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => {
            let exact = number.as_u64().unwrap_or(0);
            let unit = |units: &'static [(u64, &'static str)]| units.iter().find(fits(exact));
            if TIMES.contains(&last)
                && let Some((size, name)) = unit(&MILLISECONDS)
            {
                words::count(usize::try_from(exact / size).unwrap_or(usize::MAX), name)
            } else if SIZES.contains(&key)
                && let Some((size, name)) = unit(&BYTES)
            {
                format!("{} {name}", exact / size)
            } else if last == MONEY {
                words::cost(number.as_u64())
            } else {
                number.to_string()
            }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lengths_and_sizes_are_read_with_their_unit_and_other_numbers_as_they_are() {
        let all = [
            ("waiting.longest", json!(86_400_000), "1 day"),
            ("waiting.slack", json!(90_000), "90 seconds"),
            ("limits.disk", json!(21_474_836_480_u64), "20 GiB"),
            ("limits.processes", json!(1_024), "1024"),
            ("limits.disk", json!(1_025), "1025"),
            ("max_cost", json!(5_000_000), "$5.00"),
            ("agent", json!("bot"), "bot"),
            ("access.write", json!([1]), "[1]"),
        ];
        for (key, value, wanted) in all {
            assert_eq!(shown(key, &value), wanted, "{key}");
        }
    }
}
