//! Rust: crates of a workspace with the crates that depend on them, and test targets of a single crate.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

const MANIFEST: &str = "Cargo.toml";

pub(super) fn choose(case: &Case<'_>) -> Chosen {
    let manifests = case.files.iter().filter(|(path, _)| path.rsplit('/').next() == Some(MANIFEST));
    let read = manifests.filter_map(|(path, text)| Some((folder(path), text.parse::<toml::Table>().ok()?)));
    let read: BTreeMap<&str, toml::Table> = read.collect();
    let name = |table: &toml::Table| table.get("package")?.get("name")?.as_str().map(str::to_owned);
    let names: BTreeMap<&str, String> =
        read.iter().filter_map(|(folder, table)| Some((*folder, name(table)?))).collect();
    let shared = |path: &&&str| !super::has_end(path, "rs") || path.ends_with("build.rs");
    if let Some(file) = case.changed.iter().find(shared) {
        return Chosen::All((*file).to_owned());
    }
    if names.len() < 2 {
        return of_one(case);
    }
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (folder, table) in &read {
        let Some(name) = names.get(folder) else { continue };
        let all = dependencies(table);
        let known = names.values().filter(|other| all.contains(other.as_str())).map(String::as_str);
        needs.insert(name, known.collect());
    }
    let mut changed = Vec::new();
    for path in &case.changed {
        let around = names.iter().filter(|(folder, _)| super::below(folder, path).is_some());
        match around.max_by_key(|(folder, _)| folder.len()) {
            Some((_, name)) => changed.push(name.as_str()),
            None => return Chosen::All((*path).to_owned()),
        }
    }
    Chosen::Tests(graph::needing(&changed, &needs).into_iter().map(str::to_owned).collect())
}

/// Selects tests of a single crate: only its test targets can run separately.
fn of_one(case: &Case<'_>) -> Chosen {
    let target = |path: &str| {
        let name = path.strip_prefix("tests/")?.strip_suffix(".rs")?;
        (!name.contains('/')).then(|| format!("{TARGET}{name}"))
    };
    match case.changed.iter().find(|path| target(path).is_none()) {
        Some(file) => Chosen::All((*file).to_owned()),
        None => Chosen::Tests(case.changed.iter().filter_map(|path| target(path)).collect()),
    }
}

/// Prefix that marks a test target.
const TARGET: &str = "tests/";

/// Returns the command for some crates or test targets only.
pub(super) fn run(line: &str, chosen: &BTreeSet<String>) -> String {
    let words: Vec<String> = chosen
        .iter()
        .map(|word| match word.strip_prefix(TARGET) {
            Some(target) => format!("--test {target}"),
            None => format!("-p {word}"),
        })
        .collect();
    let verb = if line.contains("cargo nextest run") { "cargo nextest run" } else { "cargo test" };
    line.replacen(" --workspace", "", 1).replacen(verb, &format!("{verb} {}", words.join(" ")), 1)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the names of all dependencies, under any condition.
fn dependencies(table: &toml::Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            for (name, value) in inner {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                found.insert(renamed.unwrap_or(name).to_owned());
            }
        } else if key == "target" {
            found.extend(inner.values().filter_map(toml::Value::as_table).flat_map(dependencies));
        }
    }
    found
}
