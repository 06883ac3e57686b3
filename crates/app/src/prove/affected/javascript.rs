//! JavaScript and TypeScript: test files of Node's own runner by what they import, and changed sources for runners that know their tests.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

const ENDS: [&str; 8] = ["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts"];

/// The tests that Node's own runner finds, of those that are affected.
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
    // With its folder, so that no name is taken for an option.
    Chosen::Tests(tests.map(|path| format!("./{path}")).collect())
}

/// The changed files themselves.
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

/// The names of files in quotes: whatever a file names by a path beside it, it may read.
fn specifiers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for quote in ['\'', '"', '`'] {
        found.extend(text.split(quote).filter(|part| {
            (part.starts_with("./") || part.starts_with("../")) && part.len() < 300 && !part.contains('\n')
        }));
    }
    found
}

/// The file that a name stands for.
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
    // TypeScript names what its file becomes.
    let stem = path.rsplit_once('.').filter(|(_, end)| ENDS.contains(end)).map(|(stem, _)| stem);
    let tried = [Some(path.clone())].into_iter().flatten();
    let tried = tried.chain(ENDS.iter().map(|end| format!("{path}.{end}")));
    let tried = tried.chain(ENDS.iter().map(|end| format!("{path}/index.{end}")));
    let mut tried =
        tried.chain(stem.into_iter().flat_map(|stem| ENDS.iter().map(move |end| format!("{stem}.{end}"))));
    tried.find_map(|path| case.files.get_key_value(path.as_str()).map(|(path, _)| *path))
}
