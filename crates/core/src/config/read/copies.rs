//! Reads `copy` of `[setup]`: untracked files of the checkout. No path may lead out of the repository, or to files of
//! git and acquit.

use crate::config::Copied;
use crate::toml_reader::{At, Place, Source, Table, Value, quoted};

/// More files than a project needs in addition to its commits.
const MOST: usize = 50;

/// Folders from which no file is copied.
const OWN: [&str; 2] = [".git", ".acquit"];

/// Reads the list. An item is a path, or a table with `from` and `to`.
pub(super) fn copies(table: &mut Table<'_, '_>) -> Vec<Copied> {
    let Some(value) = table.value("copy") else { return Vec::new() };
    let items = value.items("a list of paths, or of tables with `from` and `to`").unwrap_or_default();
    if items.len() > MOST {
        let what = format!("{} files are more than can be copied ({MOST})", items.len());
        table.source.report(value.place, what, Some("make them with `run` instead".to_owned()));
    }
    let all: Vec<(Copied, Place)> =
        items.iter().take(MOST).filter_map(|item| one(table.source, item)).collect();
    for (index, (copied, place)) in all.iter().enumerate() {
        if all[..index].iter().any(|(other, _)| other.to == copied.to) {
            table.source.report(*place, format!("two files are copied to {}", quoted(&copied.to)), None);
        }
    }
    all.into_iter().map(|(copied, _)| copied).collect()
}

fn one(source: &Source<'_>, item: &Value<'_, '_>) -> Option<(Copied, Place)> {
    item.is_string_or_table();
    if !item.is_table() {
        let path = path(source, item.string()?)?;
        return Some((Copied { from: path.clone(), to: path }, item.place));
    }
    let mut table = item.table()?.named("an entry of `copy`".to_owned());
    table.require("from", "say which file of your checkout: from = \".env.test\"");
    let from = table.string("from").and_then(|from| path(source, from));
    let to = table.string("to").map(|to| path(source, to));
    table.finish();
    let from = from?;
    let to = to.unwrap_or_else(|| Some(from.clone()))?;
    Some((Copied { from, to }, item.place))
}

/// Normalizes a path of the repository.
fn path(source: &Source<'_>, path: At<String>) -> Option<String> {
    let text = path.value.trim_start_matches("./");
    let odd = |part: &str| {
        part.is_empty()
            || part == "."
            || part == ".."
            || OWN.iter().any(|own| own.eq_ignore_ascii_case(part))
            || part.contains(char::is_control)
    };
    if !text.split('/').any(odd) {
        return Some(text.to_owned());
    }
    let what = format!("{} is not a file that can be copied", quoted(&path.value));
    let hint =
        "write the path of one file, relative to the repository's top, not below .git or .acquit".to_owned();
    source.report(path.place, what, Some(hint));
    None
}
