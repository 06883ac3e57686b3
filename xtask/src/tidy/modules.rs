//! The top modules of each crate and which of them use which: what `cargo xtask house` prints, and the rule that no new cycle comes in.
//!
//! The graph is textual. An edge is a path that begins with `crate::` or climbs out of its module with `super::`, outside of tests; a name that the
//! crate's root re-exports leads to the module that it comes from.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{File, Tree};

/// Cycles that are known and not yet untied: the modules of each, by crate. It only gets shorter.
const KNOWN: &[(&str, &[&str])] = &[
    ("cli", &["cli", "foreground", "report", "verbs"]),
    (
        "core",
        &[
            "check",
            "config",
            "definition",
            "delivery",
            "gate",
            "human_request",
            "json_schema",
            "leg",
            "night",
            "outcome",
            "prompt",
            "proof",
            "results",
            "retention",
            "role",
            "schedule",
            "secret",
            "task",
            "template",
            "workflow",
        ],
    ),
    ("run", &["acp", "agent"]),
    ("run", &["gate", "harness", "merge", "workspace"]),
    ("store", &["ledger", "queue", "step", "tables"]),
];

/// The modules of one crate.
pub(crate) struct Graph {
    /// The folder of the crate below `crates/`.
    pub(crate) name: String,
    /// Module by module, those that it uses.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// The modules that can reach themselves through others, in groups.
    pub(crate) fn cycles(&self) -> Vec<Vec<&str>> {
        let reach: BTreeMap<&str, BTreeSet<&str>> =
            self.uses.keys().map(|module| (module.as_str(), self.reached_from(module))).collect();
        let mut left: BTreeSet<&str> =
            self.uses.keys().map(String::as_str).filter(|module| reach[module].contains(module)).collect();
        let mut groups = Vec::new();
        while let Some(first) = left.pop_first() {
            let (own, rest): (Vec<&str>, Vec<&str>) = left
                .iter()
                .copied()
                .partition(|other| reach[first].contains(other) && reach[other].contains(first));
            left = rest.into_iter().collect();
            groups.push(std::iter::once(first).chain(own).collect());
        }
        groups
    }

    fn reached_from(&self, module: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut next: Vec<&str> = self.uses.get(module).into_iter().flatten().map(String::as_str).collect();
        while let Some(one) = next.pop() {
            if found.insert(one) {
                next.extend(self.uses.get(one).into_iter().flatten().map(String::as_str));
            }
        }
        found
    }
}

/// The graph of every crate.
pub(crate) fn graphs(tree: &Tree) -> Vec<Graph> {
    let mut crates: BTreeMap<&str, Vec<(&File, Vec<&str>)>> = BTreeMap::new();
    for file in tree.rust() {
        let Some((name, inside)) =
            file.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        crates.entry(name).or_default().push((file, module_path(inside)));
    }
    crates.into_iter().map(|(name, files)| graph(name, &files)).collect()
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; the root is empty.
fn module_path(inside: &str) -> Vec<&str> {
    let path = inside.trim_end_matches(".rs");
    path.split('/').filter(|part| !["lib", "main", "mod"].contains(part)).collect()
}

fn graph(name: &str, files: &[(&File, Vec<&str>)]) -> Graph {
    let modules: BTreeSet<&str> = files.iter().filter_map(|(_, path)| path.first().copied()).collect();
    let roots = files.iter().filter(|(_, path)| path.is_empty());
    let exports: BTreeMap<String, String> = roots.flat_map(|(file, _)| exports(&file.code())).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> =
        modules.iter().map(|module| ((*module).to_owned(), BTreeSet::new())).collect();
    for (file, path) in files {
        let Some(own) = path.first() else { continue };
        if file.path.ends_with("/tests.rs") {
            continue;
        }
        let code = file.code();
        for (offset, target) in targets(&code, path.len()) {
            let target = exports.get(target).map_or(target, String::as_str);
            if !file.is_test_at(offset) && target != *own && modules.contains(target) {
                uses.entry((*own).to_owned()).or_default().insert(target.to_owned());
            }
        }
    }
    Graph { name: name.to_owned(), uses }
}

/// What `pub use module::{A, B}` of a root makes of names.
fn exports(code: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("pub use ") {
        let statement: String = code[at + 8..].chars().take_while(|&it| it != ';').collect();
        let Some((module, names)) = statement.split_once("::") else { continue };
        for name in names.split(|it: char| !(it.is_alphanumeric() || it == '_')).filter(|it| !it.is_empty()) {
            found.push((name.to_owned(), module.trim().to_owned()));
        }
    }
    found
}

/// The first name below the root in every path that starts there, for a file that is `depth` modules deep. Groups in braces are taken apart.
fn targets(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let up = "super::".repeat(depth);
    for prefix in ["crate::", up.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':') {
                continue;
            }
            let rest = &code[at + prefix.len()..];
            if let Some(group) = rest.strip_prefix('{') {
                let mut open = 0;
                let mut begins = true;
                for (offset, character) in group.char_indices() {
                    match character {
                        '{' => open += 1,
                        '}' if open == 0 => break,
                        '}' => open -= 1,
                        ',' if open == 0 => begins = true,
                        it if it.is_whitespace() => {}
                        _ if begins && open == 0 => {
                            begins = false;
                            found.push((at, first_name(&group[offset..])));
                        }
                        _ => {}
                    }
                }
            } else {
                found.push((at, first_name(rest)));
            }
        }
    }
    found
}

fn first_name(text: &str) -> &str {
    let end = text.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The rule: no cycle that is not known, and none known that is gone.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for graph in graphs(tree) {
        let known: Vec<&[&str]> =
            KNOWN.iter().filter(|(name, _)| *name == graph.name).map(|(_, modules)| *modules).collect();
        let found = graph.cycles();
        let path = format!("crates/{}/src", graph.name);
        for cycle in &found {
            if !known.iter().any(|one| cycle.iter().all(|module| one.contains(module))) {
                let what = format!("these modules use each other in a circle: {}", cycle.join(", "));
                findings.push(Finding { path: path.clone(), line: 1, what });
            }
        }
        for one in known {
            let is_there = one.iter().any(|module| graph.uses.contains_key(*module));
            if is_there && !found.iter().any(|cycle| cycle.as_slice() == one) {
                let what = format!("the circle of {} is smaller or gone: shorten KNOWN", one.join(", "));
                findings.push(Finding { path: path.clone(), line: 1, what });
            }
        }
    }
    findings
}

/// Prints the figures of every crate.
pub(crate) fn print(tree: &Tree) {
    println!(
        "{:<10} {:>8} {:>8} {:>6} {:>8} {:>9}",
        "crate", "files", "lines", "docs", "modules", "in cycles"
    );
    for graph in graphs(tree) {
        let prefix = format!("crates/{}/src/", graph.name);
        let files: Vec<&File> = tree.rust().filter(|file| file.path.starts_with(&prefix)).collect();
        let lines: usize = files.iter().map(|file| file.text.lines().count()).sum();
        let docs =
            |file: &&File| file.text.lines().filter(|line| line.trim_start().starts_with("//")).count();
        let docs: usize = files.iter().map(docs).sum();
        let tied: usize = graph.cycles().iter().map(Vec::len).sum();
        let share = docs * 100 / lines.max(1);
        println!(
            "{:<10} {:>8} {lines:>8} {:>6} {:>8} {tied:>9}",
            graph.name,
            files.len(),
            format!("{share} %"),
            graph.uses.len()
        );
    }
    for graph in graphs(tree) {
        for cycle in graph.cycles() {
            println!("\n{}: {} modules use each other in a circle", graph.name, cycle.len());
            for module in &cycle {
                let inside = graph.uses[*module].iter().filter(|other| cycle.contains(&other.as_str()));
                println!("  {module} -> {}", inside.cloned().collect::<Vec<_>>().join(", "));
            }
        }
    }
    println!("\nmost used modules, and those that use most (out of their own crate)");
    let mut fan: Vec<(usize, usize, String)> = Vec::new();
    for graph in graphs(tree) {
        for (module, uses) in &graph.uses {
            let used_by = graph.uses.values().filter(|others| others.contains(module)).count();
            fan.push((used_by, uses.len(), format!("{}::{module}", graph.name)));
        }
    }
    fan.sort_by(|a, b| b.cmp(a));
    fan.iter().take(8).for_each(|(used_by, _, module)| println!("  used by {used_by:>3}  {module}"));
    fan.sort_by_key(|(_, uses, _)| std::cmp::Reverse(*uses));
    fan.iter().take(8).for_each(|(_, uses, module)| println!("  uses    {uses:>3}  {module}"));
    let mut long: Vec<(usize, &str)> = tree
        .rust()
        .filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"))
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .collect();
    long.sort_unstable_by(|a, b| b.cmp(a));
    println!("\nlongest files");
    long.iter().take(8).for_each(|(lines, path)| println!("  {lines:>4}  {path}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File::new((*path).to_owned(), (*text).to_owned());
        Tree { files: files.iter().map(file).collect() }
    }

    /// The cycle goes through a name that the root re-exports, a group in braces and a nested module.
    #[test]
    fn a_circle_is_found_whichever_way_it_is_written() {
        let tree = tree(&[
            ("crates/new/src/lib.rs", "//! L.\nmod a;\npub use b::Beta;"),
            ("crates/new/src/a.rs", "//! A.\nuse crate::{Beta, d};"),
            ("crates/new/src/b/mod.rs", "//! B.\nmod inner;"),
            ("crates/new/src/b/inner.rs", "//! I.\nuse super::super::c::C;"),
            ("crates/new/src/c.rs", "//! C.\nuse super::a::A;"),
            ("crates/new/src/d.rs", "//! D.\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ]);
        let graphs = graphs(&tree);
        assert_eq!(graphs[0].cycles(), [["a", "b", "c"]], "{:?}", graphs[0].uses);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn modules_that_use_each_other_one_way_keep_the_rule() {
        let tree = tree(&[
            ("crates/new/src/a.rs", "//! A, see crate::c.\nuse crate::b::B;"),
            ("crates/new/src/b.rs", "//! B.\nuse crate::c::C;"),
            ("crates/new/src/c.rs", "//! C.\nconst A: &str = \"crate::a\";"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_known_circle_that_is_gone_is_named() {
        let tree = tree(&[("crates/run/src/acp.rs", "//! A."), ("crates/run/src/agent.rs", "//! G.")]);
        assert!(check(&tree)[0].what.contains("acp, agent is smaller or gone"), "{:?}", check(&tree));
    }
}
