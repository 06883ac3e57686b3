//! Python: pytest files, by their imports.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

pub(super) fn choose(case: &Case<'_>) -> Chosen {
    let settings =
        |path: &&str| !super::has_end(path, "py") || name(path) == "conftest.py" || name(path) == "setup.py";
    if let Some(file) = case.changed.iter().find(|path| settings(path)) {
        return Chosen::All((*file).to_owned());
    }
    let files: Vec<&str> = case.files.keys().copied().filter(|path| super::has_end(path, "py")).collect();
    let mut by_end: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &files {
        by_end.entry(last_part(file)).or_default().push(file);
    }
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &files {
        let text = case.files.get(file).copied().unwrap_or_default();
        let names = imports(text, file);
        let found = names.iter().flat_map(|name| modules(name, &by_end));
        needs.insert(file, found.collect());
    }
    let affected = graph::needing(&case.changed, &needs);
    Chosen::Tests(affected.into_iter().filter(|path| is_test(path)).map(str::to_owned).collect())
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_test(path: &str) -> bool {
    let name = name(path);
    name.starts_with("test_") && super::has_end(name, "py") || name.ends_with("_test.py")
}

/// Returns the last part of a module's name.
fn last_part(path: &str) -> &str {
    let path = path.strip_suffix("/__init__.py").or_else(|| path.strip_suffix(".py")).unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the files of a module and of its parent packages, wherever in the repository the source root is.
fn modules<'f>(name: &str, by_end: &BTreeMap<&str, Vec<&'f str>>) -> Vec<&'f str> {
    let parts: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    for count in 1..=parts.len() {
        let path = parts[..count].join("/");
        for file in by_end.get(parts[count - 1]).into_iter().flatten() {
            let module =
                file.strip_suffix("/__init__.py").or_else(|| file.strip_suffix(".py")).unwrap_or(file);
            if module == path || module.ends_with(&format!("/{path}")) {
                found.push(*file);
            }
        }
    }
    found
}

/// Returns the modules that a file imports, as absolute names as far as its own path allows.
fn imports(text: &str, file: &str) -> Vec<String> {
    let mut names = Vec::new();
    let folder: Vec<&str> =
        file.rsplit_once('/').map(|(folder, _)| folder.split('/').collect()).unwrap_or_default();
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(list) = line.strip_prefix("import ") {
            let one = |it: &str| it.split_whitespace().next().map(str::to_owned);
            names.extend(list.split(',').filter_map(one));
        } else if let Some((from, list)) =
            line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            let from = from.trim();
            let dots = from.len() - from.trim_start_matches('.').len();
            let up = folder.len().saturating_sub(dots.saturating_sub(1));
            let base = if dots > 0 { folder[..up].join(".") } else { String::new() };
            let module = [base.as_str(), from.trim_start_matches('.')].join(".");
            let list = list.trim_start_matches('(');
            names.extend(list.split(',').filter_map(|it| {
                let name = it.split_whitespace().next()?.trim_end_matches(')');
                Some(format!("{module}.{name}"))
            }));
            names.push(module);
        }
    }
    names
}
