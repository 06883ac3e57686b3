//! The rule for docs/modules.md: it names every module at the top of a crate, and no file that does not exist.

use std::collections::BTreeSet;

use super::Finding;
use super::source::Tree;

const MAP: &str = "docs/modules.md";

/// Checks the map against the files.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.files.iter().find(|file| file.path == MAP) else { return Vec::new() };
    let mut findings = Vec::new();
    let mut section: Option<(&str, usize, BTreeSet<&str>)> = None;
    for (number, line) in map.text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("## `crates/").and_then(|rest| rest.strip_suffix('`')) {
            findings.extend(section.take().map(|it| unnamed(tree, &it)).unwrap_or_default());
            section = Some((name, number + 1, BTreeSet::new()));
            continue;
        }
        let Some((name, _, named)) = &mut section else { continue };
        for word in line.split('`').skip(1).step_by(2) {
            named.extend(word.split(['/', ':']).map(|part| part.trim_end_matches(".rs")));
            if word.strip_suffix(".rs").is_some() && !exists(tree, name, word) {
                let what = format!("crates/{name} has no file `{word}`");
                findings.push(Finding { path: MAP.to_owned(), line: number + 1, what });
            }
        }
    }
    findings.extend(section.map(|it| unnamed(tree, &it)).unwrap_or_default());
    findings
}

fn exists(tree: &Tree, name: &str, word: &str) -> bool {
    let (root, end) = (format!("crates/{name}/src/"), format!("/{word}"));
    tree.rust().any(|file| file.path.starts_with(&root) && file.path.ends_with(&end))
}

fn unnamed(tree: &Tree, (name, line, named): &(&str, usize, BTreeSet<&str>)) -> Vec<Finding> {
    let root = format!("crates/{name}/src/");
    let top = tree.rust().filter_map(|file| {
        let inside = file.path.strip_prefix(&root)?;
        inside.split('/').next().map(|part| part.trim_end_matches(".rs"))
    });
    let modules: BTreeSet<&str> = top.filter(|module| !matches!(*module, "lib" | "main")).collect();
    let missing = modules.into_iter().filter(|module| !named.contains(module));
    missing
        .map(|module| Finding {
            path: MAP.to_owned(),
            line: *line,
            what: format!("crates/{name} has a module `{module}`"),
        })
        .collect()
}
