//! The tests of a file and what they assert, from its syntax tree.

mod copies;
mod doubles;
mod facts;
mod find;
mod matchers;
mod rigged;
mod scope;
mod script;
mod shortcuts;
mod skips;
mod vocabulary;
mod walk;

use std::collections::HashSet;

use acquit_core::agent::shorten;
use acquit_core::check::outline::{
    BODY, Check, Deed, Helper, MOST, Mark, Outline, Skip, Strength, TEXT, Test,
};
use acquit_core::check::source::Language;

use super::ir::{Kind, Node};
use scope::{File, Names, Scope};
use vocabulary::asserts_by_name;
use walk::{Found, Walk, Way};

/// A test before its body is examined.
struct Case<'a> {
    name: String,
    path: Vec<String>,
    /// Line of its name.
    line: u32,
    /// Last line.
    last: u32,
    /// `None` for a test that is only announced.
    function: Option<&'a Node>,
    skip: Option<Skip>,
    rows: u32,
    /// The expected failure, if any.
    fails: Option<Fails>,
}

/// A test that is expected to fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fails {
    /// With any error, including one of an assertion in it.
    Anyhow,
    /// With an error that no assertion raises.
    Specific,
}

/// Tests found in a file.
#[derive(Default)]
struct Suite<'a> {
    cases: Vec<Case<'a>>,
    marks: Vec<Mark>,
    spans: Vec<(u32, u32)>,
}

/// Describes a file.
pub(super) fn outline(language: Language, root: &Node) -> Outline {
    let file = file(language, root);
    let mut suite = find::suite(&file, root);
    skips::outside(&file, root, &mut suite);
    rigged::add(&file, root, &mut suite);
    let mut outline = Outline { marks: suite.marks, spans: suite.spans, ..Outline::default() };
    for case in &suite.cases {
        outline.tests.push(describe(&file, case));
        outline.spans.push((case.line, case.last));
        if outline.tests.len() >= MOST {
            break;
        }
    }
    let is_test = |node: &Node| {
        suite.cases.iter().any(|case| case.function.is_some_and(|function| std::ptr::eq(function, node)))
    };
    for (name, function) in &file.functions {
        outline.defines.push((*name).to_owned());
        if is_test(function) || outline.helpers.len() >= MOST {
            continue;
        }
        let scope = Scope::new(&file, function);
        let found = Walk::through(&scope, function, &Way::open());
        if !found.checks.is_empty() || !found.dead.is_empty() || found.skip.is_some() || asserts_by_name(name)
        {
            let skips = found.skip.map(|skip| skip.line);
            outline.helpers.push(Helper {
                name: (*name).to_owned(),
                line: function.line,
                checks: found.checks,
                dead: found.dead,
                skips,
            });
        }
    }
    for node in root.all() {
        if let Kind::Class(name, _) = &node.kind {
            outline.defines.push(name.clone());
        }
    }
    outline.helpers.sort_by_key(|helper| helper.line);
    outline.defines.sort();
    outline.defines.dedup();
    doubles::add(&file, root, &mut outline);
    outline.shortcuts = shortcuts::find(&file, &is_test);
    outline.own = copies::find(&file, &is_test);
    outline
}

/// Collects what the file defines outside of functions.
fn file(language: Language, root: &Node) -> File<'_> {
    let mut file = File {
        language,
        functions: std::collections::HashMap::new(),
        values: Names::default(),
        imports: std::collections::HashMap::new(),
        loose: HashSet::new(),
        imported: HashSet::new(),
        asserting: script::assertions(language, root),
    };
    for (module, names) in doubles::modules(language, root) {
        // Its `equal` is `==`, unless it is the strict one under another name.
        if matches!(module.as_str(), "assert" | "node:assert") && !names.iter().any(|name| name == "strict") {
            file.loose.extend(names.iter().cloned());
        }
        file.imported.extend(names);
    }
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.kind {
            Kind::Function(function) => {
                if !function.name.is_empty() {
                    file.functions.insert(&function.name, node);
                }
                continue;
            }
            Kind::Assign(name) => {
                if let Some(value) = node.kids.first().filter(|value| value.function().is_some()) {
                    file.functions.insert(name, value);
                }
                file.values.add(node);
            }
            Kind::Import(here, there) => {
                file.imports.insert(here, there);
            }
            // The functions of a test group are inside the function that forms the group.
            Kind::Call if language == Language::Script && script::is_suite(node) => {
                for arg in node.args().iter().filter(|arg| arg.function().is_some()) {
                    open.extend(arg.kids.iter());
                }
            }
            Kind::Call if node.called().ends_with('!') => {
                for arg in node.args() {
                    open.extend(
                        arg.all()
                            .into_iter()
                            .filter(|node| node.function().is_some_and(|f| f.name == "f"))
                            .flat_map(|node| &node.kids),
                    );
                }
            }
            _ => {}
        }
        open.extend(node.kids.iter());
    }
    file
}

fn describe(file: &File<'_>, case: &Case<'_>) -> Test {
    let mut test = Test {
        name: shorten(&case.name, TEXT),
        path: case.path.iter().map(|part| shorten(part, TEXT)).collect(),
        line: case.line,
        last: case.last,
        skip: case.skip.clone(),
        rows: case.rows.max(1),
        ..Test::default()
    };
    let Some(function) = case.function else { return test };
    let scope = Scope::new(file, function);
    let mut way = Way { times: case.rows.clamp(1, 10_000), ..Way::open() };
    if case.fails == Some(Fails::Anyhow) {
        way.dead = Some("the test is expected to fail".to_owned());
    }
    let Found { checks, dead, skip, calls } = Walk::through(&scope, function, &way);
    (test.checks, test.dead, test.calls) = (checks, dead, calls.into_iter().collect());
    test.counted = function.any(&walk::counts_assertions);
    test.body = shorten(&function.kids.first().map(Node::text).unwrap_or_default(), BODY);
    let body = function.kids.first();
    if case.fails.is_some() {
        test.checks.push(Check {
            line: case.line,
            text: "the test fails as expected".to_owned(),
            subject: test.body.clone(),
            about: body.map(|body| scope.about(body)).unwrap_or_default(),
            expected: None,
            strength: if case.fails == Some(Fails::Specific) { Strength::Partial } else { Strength::Shape },
            times: test.rows,
            only_if: None,
            by_result: false,
            called_back: false,
        });
    }
    let example = file.language == Language::Go && case.name.starts_with("Example");
    if example && function.raw().contains("Output:") {
        let text = function.raw().split("Output:").nth(1).unwrap_or_default();
        test.checks.push(Check {
            line: case.line,
            text: shorten(text.trim(), TEXT),
            subject: test.body.clone(),
            about: body.map(|body| scope.about(body)).unwrap_or_default(),
            expected: Some(shorten(text.trim(), TEXT)),
            strength: Strength::Exact,
            times: 1,
            only_if: None,
            by_result: false,
            called_back: false,
        });
    }
    test.skip = match (test.skip, skip) {
        (Some(outer), Some(inner)) if outer.conditional && !inner.conditional => Some(inner),
        (Some(outer), _) => Some(outer),
        (None, inner) => inner,
    };
    test
}

fn mark(node: &Node, deed: Deed) -> Mark {
    Mark { line: node.line, text: shorten(&node.text(), TEXT), deed }
}

fn skipped(node: &Node, conditional: bool) -> Skip {
    Skip { line: node.line, text: shorten(&node.text(), TEXT), conditional }
}
