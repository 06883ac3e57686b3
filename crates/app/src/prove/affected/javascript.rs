//! JavaScript and TypeScript: test files of the Node test runner by their imports, and changed sources for runners that
//! find related tests.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

const ENDS: [&str; 8] = ["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts"];

/// Returns the affected tests of the Node test runner.
pub(super) fn choose_tests(case: &Case<'_>) -> Chosen {
    if let Some(file) = case.changed.iter().find(|path| !is_source(path)) {
        return Chosen::All((*file).to_owned());
    }
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, text) in case.files.iter().filter(|(file, _)| is_source(file)) {
        let found = specifiers(text).into_iter().filter_map(|name| resolve(case, file, name));
        needs.insert(file, found.collect());
    }
    let affected = graph::needing(&case.changed, &needs);
    let tests = affected.into_iter().filter(|path| is_test(path) && case.files.contains_key(path));
    // Include the folder, so that no name is parsed as an option.
    Chosen::Tests(tests.map(|path| format!("./{path}")).collect())
}

/// Returns the changed files themselves.
pub(super) fn choose_sources(case: &Case<'_>) -> Chosen {
    if let Some(file) = case.changed.iter().find(|path| !is_source(path) || path.contains(".config.")) {
        return Chosen::All((*file).to_owned());
    }
    Chosen::Tests(case.changed.iter().map(|path| format!("./{path}")).collect())
}

fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end))
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let inside = path.split('/').rev().skip(1).any(|folder| folder == "test");
    inside
        || stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
}

/// Returns the relative paths in quotes: a file may read anything it names that way.
fn specifiers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for quote in ['\'', '"', '`'] {
        found.extend(text.split(quote).filter(|part| {
            (part.starts_with("./") || part.starts_with("../")) && part.len() < 300 && !part.contains('\n')
        }));
    }
    found
}

/// Returns the file that a specifier refers to.
fn resolve<'f>(case: &Case<'f>, from: &str, name: &str) -> Option<&'f str> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    let path = parts.join("/");
    // TypeScript imports name the compiled file.
    let stem = path.rsplit_once('.').filter(|(_, end)| ENDS.contains(end)).map(|(stem, _)| stem);
    let tried = [Some(path.clone())].into_iter().flatten();
    let tried = tried.chain(ENDS.iter().map(|end| format!("{path}.{end}")));
    let tried = tried.chain(ENDS.iter().map(|end| format!("{path}/index.{end}")));
    let mut tried =
        tried.chain(stem.into_iter().flat_map(|stem| ENDS.iter().map(move |end| format!("{stem}.{end}"))));
    tried.find_map(|path| case.files.get_key_value(path.as_str()).map(|(path, _)| *path))
}
