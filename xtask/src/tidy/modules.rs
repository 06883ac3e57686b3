//! The modules of each crate and which of them use which: what `cargo xtask house` prints, and the rule that no cycle comes in.
//!
//! The graph is textual. An edge is a path that begins with `crate` or `super`, outside of tests; a name that a module re-exports leads to the
//! module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::{File, Tree};

/// Folders inside of crates whose modules use each other in cycles, and how many modules may. It only gets shorter.
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

/// The modules of one folder of a crate.
pub(crate) struct Graph {
    /// The folder of the crate below `crates/`.
    pub(crate) name: String,
    /// The folder inside of it; empty for the modules at the top.
    pub(crate) folder: String,
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

/// The graph of every crate: its modules at the top, and after it one for each folder inside.
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

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; the root is empty.
fn module_path(inside: &str) -> Vec<&str> {
    let path = inside.trim_end_matches(".rs");
    path.split('/').filter(|part| !["lib", "main", "mod"].contains(part)).collect()
}

/// A module by its path from the root.
type Module = Vec<String>;

/// What the paths of a crate lead to.
struct Names {
    modules: BTreeSet<Module>,
    /// What each module re-exports: its name, and the path that it stands for.
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

    /// The module that a path ends in, with re-exports followed. `None` for a path out of the crate.
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

/// A path as written in the module `here`, from the root. One that begins with a name begins in `here`.
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
            // A module and the folder that it is in are one subject.
            if let (Some(own), Some(other)) = (here.get(common), target.get(common)) {
                let folder = graphs.entry(here[..common].to_vec()).or_default();
                folder.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    let graph = |(folder, uses): (Module, _)| Graph { name: name.to_owned(), folder: folder.join("/"), uses };
    graphs.into_iter().map(graph).collect()
}

/// Every path with at least two names in it, with its place; groups in braces are taken apart. `wanted` is asked with the text before.
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

/// Reads one path and gives every path in it to `take`. Returns how much was read.
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
    // `self` at the end of a group is the group's own name.
    let own = prefix.last().is_some_and(|last| last == "self") && prefix.len() > 1;
    take(&prefix[..prefix.len() - usize::from(own)]);
    prefix.truncate(depth);
    at
}

/// Reads what stands in braces, up to the closing one.
fn list(text: &str, prefix: &mut Vec<String>, take: &mut dyn FnMut(&[String])) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next == '}' {
            return at + 1;
        }
        if next.is_alphanumeric() || next == '_' {
            at += path(&text[at..], prefix, take);
            // `as` and what follows it are no paths.
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

/// The rule: no cycle between the modules of a crate, and no folder with more modules in cycles than [`INSIDE`] says.
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

    /// Re-exports of a folder's own modules lead to them, and what is in the folder itself is no edge.
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
