//! Java with Maven: test classes that name a changed class, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Chosen, graph};

pub(super) fn choose(case: &Case<'_>) -> Chosen {
    if let Some(file) = case.changed.iter().find(|path| !super::has_end(path, "java")) {
        return Chosen::All((*file).to_owned());
    }
    let files: Vec<&str> = case.files.keys().copied().filter(|path| super::has_end(path, "java")).collect();
    let mut by_class: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &files {
        by_class.entry(class(file)).or_default().push(file);
    }
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &files {
        let text = case.files.get(file).copied().unwrap_or_default();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        let named = words.filter(|word| *word != class(file)).filter_map(|word| by_class.get(word)).flatten();
        needs.insert(file, named.copied().collect());
    }
    let affected = graph::needing(&case.changed, &needs);
    let tests = affected.into_iter().filter(|path| path.contains("src/test/") && is_test(class(path)));
    Chosen::Tests(tests.map(|path| class(path).to_owned()).collect())
}

fn class(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".java").unwrap_or(name)
}

/// Returns whether Maven treats a class with this name as a test.
fn is_test(class: &str) -> bool {
    class.starts_with("Test") || ["Test", "Tests", "TestCase"].iter().any(|end| class.ends_with(end))
}
