//! The module graph of each crate, for `cargo xtask house` and for the rule against new cycles.
//!
//! The graph is textual. An edge is a path that starts with `crate` or `super`, outside tests. A re-exported name
//! refers to the module it comes from.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{File, Tree};

/// Directories with module cycles, and the maximum number of modules in them. Only shorten this list.
const INSIDE: &[(&str, usize)] = &[
    ("crates/app/src/prove", 2),
    ("crates/app/src/serve", 3),
    ("crates/core/src/check/dilution", 7),
    ("crates/core/src/check/secrets", 2),
    ("crates/core/src/config", 3),
    ("crates/core/src/gate/check", 2),
    ("crates/core/src/toml_reader", 4),
    ("crates/core/src/workflow", 2),
    ("crates/run/src/acp", 2),
    ("crates/run/src/agent", 9),
    ("crates/run/src/forge", 4),
    ("crates/run/src/git", 2),
    ("crates/run/src/harness", 3),
    ("crates/run/src/harness/perform", 4),
    ("crates/run/src/leg", 4),
    ("crates/run/src/syntax/suite", 2),
    ("crates/run/src/workspace", 3),
    ("crates/sandbox/src/network", 5),
    ("crates/sandbox/src/process", 9),
    ("crates/sandbox/src/process/contain", 3),
    ("crates/testkit/src/forge", 2),
    ("crates/testkit/src/model", 5),
];

/// The modules in one directory of a crate.
pub(crate) struct Graph {
    /// The crate's directory below `crates/`.
    pub(crate) name: String,
    /// The directory inside the crate; empty for top-level modules.
    pub(crate) folder: String,
    /// The modules that each module uses.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Returns the modules that can reach themselves through others, in groups.
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

/// Returns the graphs of all crates: top-level modules first, then one graph for each directory.
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
    crates.into_iter().flat_map(|(name, files)| of_crate(name, &files)).collect()
}

/// Maps `a/b.rs` and `a/b/mod.rs` to the module `a::b`; the root is empty.
fn module_path(inside: &str) -> Vec<&str> {
    let path = inside.trim_end_matches(".rs");
    path.split('/').filter(|part| !["lib", "main", "mod"].contains(part)).collect()
}

/// A module by its path from the root.
type Module = Vec<String>;

/// The targets of paths in a crate.
struct Names {
    modules: BTreeSet<Module>,
    /// Re-exports of each module: the name, and its path.
    exports: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Names {
    fn of(files: &[(&File, Vec<&str>)]) -> Self {
        let owned = |path: &[&str]| path.iter().map(|&part| part.to_owned()).collect::<Module>();
        let mut exports: BTreeMap<Module, BTreeMap<String, Module>> = BTreeMap::new();
        for (file, path) in files {
            let here = owned(path);
            for (_, written) in uses(&file.code(), |before| before.ends_with("use ")) {
                let Some(name) = written.last().cloned() else { continue };
                let target = absolute(&here, &written);
                exports.entry(here.clone()).or_default().insert(name, target);
            }
        }
        Self { modules: files.iter().map(|(_, path)| owned(path)).collect(), exports }
    }

    /// Returns the module of a path, following re-exports. `None` for a path that leaves the crate.
    fn module_of(&self, path: &[String], depth: usize) -> Option<Module> {
        let mut at = Module::new();
        for (index, name) in path.iter().enumerate() {
            let inner: Module = at.iter().chain([name]).cloned().collect();
            if self.modules.contains(&inner) {
                at = inner;
                continue;
            }
            let exported = self.exports.get(&at).and_then(|names| names.get(name));
            if let Some(target) = exported.filter(|target| depth < 8 && *target != &path[..=index]) {
                let rest: Module = target.iter().chain(&path[index + 1..]).cloned().collect();
                return self.module_of(&rest, depth + 1);
            }
            break;
        }
        (!at.is_empty()).then_some(at)
    }
}

/// Resolves a path written in module `here`, from the root. A path that starts with a name starts in `here`.
fn absolute(here: &[String], written: &[String]) -> Module {
    let mut at: Module = here.to_vec();
    let mut rest = written;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            _ => break,
        }
        rest = after;
    }
    at.extend(rest.iter().cloned());
    at
}

fn of_crate(name: &str, files: &[(&File, Vec<&str>)]) -> Vec<Graph> {
    let names = Names::of(files);
    let mut graphs: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for module in names.modules.iter().filter(|module| !module.is_empty()) {
        let (own, folder) = (module[module.len() - 1].clone(), module[..module.len() - 1].to_vec());
        graphs.entry(folder).or_default().entry(own).or_default();
    }
    for (file, path) in files {
        let here: Module = path.iter().map(|&part| part.to_owned()).collect();
        if here.is_empty() || file.path.ends_with("/tests.rs") {
            continue;
        }
        let code = file.code();
        for (offset, written) in uses(&code, |_| true) {
            let begins = written.first().is_some_and(|first| ["crate", "super"].contains(&first.as_str()));
            if !begins || file.is_test_at(offset) {
                continue;
            }
            let Some(target) = names.module_of(&absolute(&here, &written), 0) else { continue };
            let common = here.iter().zip(&target).take_while(|(mine, other)| mine == other).count();
            // A module and its parent directory belong together, so this is no edge.
            if let (Some(own), Some(other)) = (here.get(common), target.get(common)) {
                let folder = graphs.entry(here[..common].to_vec()).or_default();
                folder.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    let graph = |(folder, uses): (Module, _)| Graph { name: name.to_owned(), folder: folder.join("/"), uses };
    graphs.into_iter().map(graph).collect()
}

/// Finds every path of at least two names, with its offset. Expands groups in braces. Calls `wanted` with the text
/// before.
fn uses(code: &str, wanted: impl Fn(&str) -> bool) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut at = 0;
    while let Some(length) = code[at..].find("::") {
        let middle = at + length;
        let start = code[..middle].rfind(|it| !is_word(it)).map_or(0, |it| it + 1);
        let before = &code[..start];
        at = middle + 2;
        if start == middle || before.ends_with("::") {
            continue;
        }
        let end = path(&code[start..], &mut Vec::new(), &mut |names| {
            if wanted(before) {
                found.push((start, names.to_vec()));
            }
        });
        at = at.max(start + end);
    }
    found
}

/// Parses one path and passes every path in it to `take`. Returns the length.
fn path(text: &str, prefix: &mut Vec<String>, take: &mut dyn FnMut(&[String])) -> usize {
    let depth = prefix.len();
    let mut at = 0;
    loop {
        let name = first_name(&text[at..]);
        if name.is_empty() {
            break;
        }
        at += name.len();
        prefix.push(name.to_owned());
        let Some(after) = text[at..].strip_prefix("::") else { break };
        at += 2;
        if let Some(group) = after.strip_prefix('{') {
            at += 1 + list(group, prefix, take);
            prefix.truncate(depth);
            return at;
        }
    }
    // `self` at the end of a group is the group itself.
    let own = prefix.last().is_some_and(|last| last == "self") && prefix.len() > 1;
    take(&prefix[..prefix.len() - usize::from(own)]);
    prefix.truncate(depth);
    at
}

/// Parses a group in braces. Returns the length, including the closing brace.
fn list(text: &str, prefix: &mut Vec<String>, take: &mut dyn FnMut(&[String])) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next == '}' {
            return at + 1;
        }
        if next.is_alphanumeric() || next == '_' {
            at += path(&text[at..], prefix, take);
            // Skip `as` and the alias.
            at += text[at..].find([',', '}']).unwrap_or(text.len() - at);
        } else {
            at += next.len_utf8();
        }
    }
    text.len()
}

fn first_name(text: &str) -> &str {
    let end = text.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The rule: no cycles between the modules of a crate, and no directory with more modules in cycles than [`INSIDE`]
/// allows.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for graph in graphs(tree) {
        let path = format!("crates/{}/src/{}", graph.name, graph.folder);
        let path = path.trim_end_matches('/').to_owned();
        let found = graph.cycles();
        let tied: usize = found.iter().map(Vec::len).sum();
        let known = INSIDE.iter().find(|(place, _)| *place == path).map_or(0, |(_, most)| *most);
        let all: Vec<String> = found.iter().map(|cycle| cycle.join(", ")).collect();
        if tied > known {
            let what = format!("these modules use each other in a circle: {}", all.join("; "));
            findings.push(Finding { path, line: 1, what });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File::new((*path).to_owned(), (*text).to_owned());
        Tree { files: files.iter().map(file).collect() }
    }

    /// The cycle goes through a re-export of the root, a group in braces and a nested module.
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

    /// Re-exports of a directory's own modules refer to these modules, and items of the directory itself are no
    /// edges.
    #[test]
    fn a_circle_inside_of_a_folder_is_found() {
        let tree = tree(&[
            ("crates/new/src/lib.rs", "//! L.\nmod a;"),
            (
                "crates/new/src/a/mod.rs",
                "//! A.\nmod x;\nmod y;\npub(crate) use y::{Why, Other};\nconst N: u8 = 1;",
            ),
            ("crates/new/src/a/x.rs", "//! X.\nuse super::{N, Why};"),
            ("crates/new/src/a/y.rs", "//! Y.\nfn y() { super::x::run() }"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["crates/new/src/a"]);
    }
}
