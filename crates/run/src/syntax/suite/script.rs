//! Tests of JavaScript and TypeScript: calls of `it`, `test`, `describe` and their variants.

use std::collections::HashMap;

use acquit_core::check::outline::{Deed, MANY};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};
use super::find::{Around, descend};
use super::scope::{File, Scope};
use super::{Case, Suite, mark, skipped};

const TESTS: [&str; 8] = ["it", "test", "specify", "fit", "xit", "xtest", "xspecify", "Deno"];
const SUITES: [&str; 8] =
    ["describe", "suite", "context", "fdescribe", "xdescribe", "xcontext", "xsuite", "fcontext"];
/// Members of `test` that are not tests.
const OTHERS: [&str; 13] = [
    "beforeEach",
    "afterEach",
    "beforeAll",
    "afterAll",
    "before",
    "after",
    "use",
    "extend",
    "step",
    "configure",
    "setTimeout",
    "info",
    "mock",
];

/// Assertion modules.
pub(super) const LIBRARIES: [&str; 8] = [
    "assert",
    "node:assert",
    "assert/strict",
    "node:assert/strict",
    "chai",
    "power-assert",
    "expect",
    "uvu/assert",
];

/// Returns the assertions that a file imports or extracts from a library under local names, each with the library's
/// name for it. A library itself maps to itself, under the empty name.
pub(super) fn assertions(language: Language, root: &Node) -> HashMap<String, String> {
    let mut found = HashMap::new();
    if language != Language::Script {
        return found;
    }
    let nodes = root.all();
    for (module, names) in super::doubles::modules(language, root) {
        if LIBRARIES.contains(&module.as_str()) {
            found.extend(names.into_iter().map(|name| (name.clone(), name)));
        }
    }
    for node in &nodes {
        if let Kind::Import(here, there) = &node.kind
            && found.contains_key(here)
            && found.contains_key(there)
        {
            found.insert(here.clone(), there.clone());
        }
    }
    let of_library = |node: &Node, found: &HashMap<String, String>| {
        let value = if node.called() == "require" { node.args().first().unwrap_or(node) } else { node };
        let module = value.raw().trim_matches(['"', '\'', '`']);
        let first = node.path().first().copied().unwrap_or_default();
        node.called() == "require" && LIBRARIES.contains(&module)
            || node.kind != Kind::Call && (found.contains_key(first) || first == "assert")
    };
    for node in &nodes {
        let Kind::Assign(left) = &node.kind else { continue };
        let Some(value) = node.kids.first().filter(|value| of_library(value, &found)) else { continue };
        if let Some(names) = left.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            for name in names.split(',') {
                let (there, here) = name.split_once(':').unwrap_or((name, name));
                found.insert(here.trim().to_owned(), there.trim().to_owned());
            }
        } else if let Kind::Member(word) = &value.kind {
            // `const same = assert.strictEqual`.
            found.insert(left.clone(), word.clone());
        }
    }
    found.retain(|here, _| !here.is_empty() && !here.starts_with(char::is_uppercase));
    found
}

/// Returns whether a call is a test group, by its name.
pub(super) fn is_suite(call: &Node) -> bool {
    let path = call.kids.first().map(Node::path).unwrap_or_default();
    path.first().is_some_and(|root| SUITES.contains(root))
        || path.get(1).is_some_and(|word| matches!(*word, "describe" | "suite"))
}

pub(super) fn call<'a>(
    file: &File<'a>,
    node: &'a Node,
    around: &Around,
    suite: &mut Suite<'a>,
    depth: usize,
) {
    let scope = Scope::new(file, node);
    let mut words: Vec<&str> = node.kids.first().map(Node::path).unwrap_or_default();
    let root = words.first().copied().unwrap_or_default();
    let mut aliased = None;
    // `const later = it.skip`, `const maybe = condition ? it : it.skip`.
    if let Some(value) = file.values.get(root).filter(|value| value.function().is_none()) {
        let paths: Vec<Vec<&str>> = value
            .all()
            .into_iter()
            .filter(|node| matches!(node.kind, Kind::Name(_) | Kind::Member(_)))
            .map(Node::path)
            .collect();
        let known = |path: &&Vec<&str>| {
            path.first().is_some_and(|root| TESTS.contains(root) || SUITES.contains(root))
        };
        let found: Vec<&Vec<&str>> = paths.iter().filter(known).collect();
        let skips = found.iter().find(|path| path.contains(&"skip") || path.contains(&"todo"));
        if let Some(path) = skips.or(found.first()) {
            words.splice(0..1, path.iter().copied());
            aliased = Some(value).filter(|_| skips.is_some());
        }
    }
    let root = words.first().copied().unwrap_or_default();
    let is_suite =
        SUITES.contains(&root) || words.get(1).is_some_and(|word| matches!(*word, "describe" | "suite"));
    let is_test = TESTS.contains(&root)
        && !words.iter().any(|word| OTHERS.contains(word))
        && (root != "Deno" || words.get(1) == Some(&"test"));
    let function = node.args().iter().rev().find_map(|arg| match &arg.kind {
        Kind::Function(_) => Some(arg),
        Kind::Name(name) => file.functions.get(name.as_str()).copied(),
        _ => None,
    });
    let each = matches!(words.as_slice(), [.., "each" | "for" | "skipIf" | "runIf"]);
    if !(is_suite || is_test) || each && function.is_none() {
        return other(file, node, around, suite, depth);
    }
    let titled = node.args().first().filter(|first| first.function().is_none() && first.kind != Kind::List);
    let text = titled.is_some_and(|title| title.kind == Kind::Literal(Literal::Text));
    if function.is_none() && !text {
        return other(file, node, around, suite, depth);
    }
    let name = titled.map_or_else(
        || "(without a name)".to_owned(),
        |title| title.text().trim_matches(['"', '`']).to_owned(),
    );
    let mut around = around.clone();
    let unconditional =
        words.iter().any(|word| matches!(*word, "skip" | "todo" | "failing" | "fails" | "fixme"))
            || matches!(root, "xit" | "xtest" | "xspecify" | "xdescribe" | "xcontext" | "xsuite");
    if unconditional {
        let conditional =
            aliased.is_some_and(|value| value.kind == Kind::If && scope.truth(&value.kids[0]).is_none());
        around = around.skipped(Some(skipped(node.kids.first().unwrap_or(node), conditional)));
    }
    if let Some((condition, wanted)) = condition(node) {
        match scope.truth(condition) {
            Some(truth) if truth != wanted => {}
            truth => around = around.skipped(Some(skipped(condition, truth.is_none()))),
        }
    }
    if words.contains(&"only") || matches!(root, "fit" | "fdescribe" | "fcontext") {
        suite.marks.push(mark(node.kids.first().unwrap_or(node), Deed::Skips));
    }
    for option in node.args().iter().filter(|arg| arg.kind == Kind::List).flat_map(|list| &list.kids) {
        let Kind::Pair(key) = &option.kind else { continue };
        let value = option.kids.first();
        let on = value.is_some_and(|value| scope.truth(value) != Some(false));
        match key.as_str() {
            "skip" | "todo" | "fails" | "ignore" if on => {
                let conditional = value.is_some_and(|value| scope.truth(value).is_none());
                around = around.skipped(Some(skipped(option, conditional)));
            }
            "only" if on => suite.marks.push(mark(option, Deed::Skips)),
            _ => {}
        }
    }
    if let Some(stub) = file.functions.get(root).filter(|stub| is_stub(stub)) {
        around = around.skipped(Some(skipped(stub, false)));
    }
    if let Some(rows) = rows(&scope, node) {
        around = if rows == 0 {
            around.skipped(Some(skipped(node.kids.first().unwrap_or(node), false)))
        } else {
            around.rows(rows)
        };
    }
    match function {
        Some(function) if is_suite => {
            let inner = around.inside(&name);
            for kid in &function.kids {
                descend(file, kid, &inner, suite, depth + 1);
            }
        }
        function => suite.cases.push(Case {
            name,
            path: around.path.clone(),
            line: node.line,
            last: node.last,
            function,
            skip: around.skip.clone().or_else(|| function.is_none().then(|| skipped(node, false))),
            rows: around.rows.unwrap_or(1),
            fails: None,
        }),
    }
}

/// Handles a call that is not a test, but whose functions may contain some.
fn other<'a>(file: &File<'a>, node: &'a Node, around: &Around, suite: &mut Suite<'a>, depth: usize) {
    let word = node.called();
    if matches!(word, "beforeEach" | "before" | "beforeAll" | "setup") {
        for function in node.args().iter().filter(|arg| arg.function().is_some()) {
            let scope = Scope::new(file, function);
            let found = super::walk::Walk::through(&scope, function, &super::walk::Way::open());
            if let Some(skip) = found.skip {
                suite.marks.push(acquit_core::check::outline::Mark {
                    line: skip.line,
                    text: skip.text,
                    deed: Deed::Skips,
                });
            }
        }
        return;
    }
    let mut inner = around.clone();
    if matches!(word, "forEach" | "map") {
        let object = node.kids.first().and_then(|callee| callee.kids.first());
        let scope = Scope::new(file, node);
        match object.and_then(|object| scope.entries(object)) {
            Some(0) => inner = inner.skipped(Some(skipped(node.kids.first().unwrap_or(node), false))),
            Some(count) => inner = inner.rows(count),
            None => inner = inner.rows(MANY),
        }
    }
    for kid in &node.kids {
        if kid.function().is_some() {
            for kid in &kid.kids {
                descend(file, kid, &inner, suite, depth + 1);
            }
        } else {
            descend(file, kid, &inner, suite, depth + 1);
        }
    }
}

/// `it.skipIf(condition)(…)`, `it.runIf(condition)(…)`: returns the condition, and the value for which it skips.
fn condition(node: &Node) -> Option<(&Node, bool)> {
    let callee = node.kids.first()?;
    let wanted = match callee.called() {
        "skipIf" => true,
        "runIf" => false,
        _ => return None,
    };
    Some((callee.args().first()?, wanted))
}

/// Returns the number of rows of `it.each(table)(…)`.
fn rows(scope: &Scope<'_, '_>, node: &Node) -> Option<u32> {
    let callee = node.kids.first()?;
    if callee.kind != Kind::Call || !matches!(callee.called(), "each" | "for") {
        return None;
    }
    let table = callee.args().first()?;
    if table.raw().starts_with('`') {
        let lines = table.raw().lines().filter(|line| line.contains("${")).count();
        return u32::try_from(lines).ok();
    }
    Some(scope.entries(table).unwrap_or(MANY))
}

/// Detects a replacement of `it` that never runs the function passed to it.
fn is_stub(function: &Node) -> bool {
    let params = function.function().map(|function| function.params.clone()).unwrap_or_default();
    let calls = |node: &Node| {
        node.kind == Kind::Call
            && (params.iter().any(|param| node.called() == param)
                || node.args().iter().any(|arg| params.iter().any(|param| arg.text() == *param)))
    };
    !function.kids.iter().any(|kid| kid.any(&calls))
}
