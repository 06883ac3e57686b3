//! Detects assertions that are replaced by something that cannot fail: library functions that are reassigned, matchers
//! and macros with the same name, values that equal everything, and extensions that swallow a failure.
//!
//! The location does not matter. A helper, a setup file or the code under test can disarm the tests of every file.

use acquit_core::check::outline::Deed;
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};
use super::scope::File;
use super::script::LIBRARIES;
use super::{Suite, mark};

/// Assertions of libraries, by their essential names. Others are the project's own.
const KNOWN: [&str; 40] = [
    "equal",
    "equals",
    "strictequal",
    "deepequal",
    "deepstrictequal",
    "notequal",
    "notstrictequal",
    "notdeepequal",
    "ok",
    "throws",
    "rejects",
    "doesnotthrow",
    "doesnotreject",
    "match",
    "doesnotmatch",
    "fail",
    "true",
    "false",
    "in",
    "notin",
    "none",
    "notnone",
    "instance",
    "raises",
    "almostequal",
    "listequal",
    "dictequal",
    "greater",
    "less",
    "count",
    "",
    "defined",
    "undefined",
    "null",
    "truthy",
    "falsy",
    "contain",
    "containequal",
    "havelength",
    "throw",
];

pub(super) fn add(file: &File<'_>, root: &Node, suite: &mut Suite<'_>) {
    for node in root.all() {
        let rigged = match &node.kind {
            Kind::Assign(left) => is_assertion(file, left),
            Kind::Call => replaces(file, node),
            Kind::Function(_) => {
                equals_everything(file.language, node) || takes_failures(file.language, node)
            }
            Kind::Other if file.language == Language::Rust => is_macro(node.raw()),
            // Go: a panic that is silently recovered.
            Kind::Statement if file.language == Language::Go => {
                node.kids.first().is_some_and(|call| call.called() == "recover")
            }
            _ => false,
        };
        if rigged {
            suite.marks.push(mark(node, Deed::Disarms));
        }
    }
}

/// Returns whether a name is an assertion of a library.
fn is_known(name: &str) -> bool {
    let bare = super::vocabulary::essential(name);
    KNOWN.contains(&bare.as_str()) || KNOWN.contains(&bare.trim_start_matches("not"))
}

/// Returns whether a name refers to an assertion library.
fn is_library(file: &File<'_>, name: &str) -> bool {
    let name = name.trim();
    match file.language {
        Language::Script => {
            matches!(name, "assert" | "assert.strict" | "expect" | "chai" | "chai.assert")
                || file.asserting.get(name).is_some_and(|there| there == name) && !is_known(name)
                || LIBRARIES.iter().any(|module| {
                    name.contains(&format!("require(\"{module}\")"))
                        || name.contains(&format!("require('{module}')"))
                })
        }
        Language::Python => {
            name.ends_with("TestCase") || matches!(name, "pytest" | "unittest" | "self" | "cls")
        }
        Language::Rust | Language::Go | Language::Java => false,
    }
}

/// Detects `assert.equal`, `unittest.TestCase.assertEqual`, `assert[name]`.
fn is_assertion(file: &File<'_>, left: &str) -> bool {
    if let Some((object, _)) = left.split_once('[').filter(|_| left.ends_with(']')) {
        return file.language == Language::Script && is_library(file, object);
    }
    let Some((object, name)) = left.rsplit_once('.') else { return false };
    let python = file.language == Language::Python;
    let asserts = if python { name.starts_with("assert") || matches!(name, "raises" | "fail") } else { true };
    asserts && is_library(file, object) && is_known(name)
}

fn text(node: &Node) -> Option<&str> {
    (node.kind == Kind::Literal(Literal::Text)).then(|| node.raw().trim_matches(['"', '\'', '`']))
}

/// Detects calls that replace an assertion.
fn replaces(file: &File<'_>, call: &Node) -> bool {
    let callee = call.callee();
    let args = call.args();
    let object = args.first().map(Node::text).unwrap_or_default();
    let name = args.get(1).and_then(text).unwrap_or_default();
    let path: Vec<&str> = callee.split('.').collect();
    let has_known = |node: &Node| {
        node.kids.iter().any(|kid| match &kid.kind {
            Kind::Pair(key) => is_known(key),
            Kind::Function(function) => is_known(&function.name),
            _ => false,
        })
    };
    match path.as_slice() {
        ["expect", "extend"] => args.first().is_some_and(has_known),
        ["Object" | "Reflect", "assign" | "defineProperties"] => {
            is_library(file, &object) && args.iter().skip(1).any(has_known)
        }
        ["Object" | "Reflect", "defineProperty" | "set"]
        | [.., "mock", "method"]
        | ["sinon", "stub" | "replace"] => is_library(file, &object) && is_known(name),
        // A plain spy lets the call through.
        [.., "spyOn", "()", word] if word.starts_with("mock") => {
            let spy = call.kids.first().and_then(|callee| callee.kids.first());
            spy.is_some_and(|spy| {
                let object = spy.args().first().map(Node::text).unwrap_or_default();
                is_library(file, &object) && spy.args().get(1).and_then(text).is_some_and(is_known)
            })
        }
        ["jest" | "vi", "mock" | "doMock"] | ["mock", "module"] => {
            args.first().and_then(text).is_some_and(|module| LIBRARIES.contains(&module))
        }
        ["setattr"] | [.., "setattr"] | [.., "patch", "object"] if file.language == Language::Python => {
            let dotted = args.first().and_then(text).is_some_and(|path| is_assertion(file, path));
            dotted || is_library(file, &object) && is_assertion(file, &format!("TestCase.{name}"))
        }
        ["patch"] | [.., "patch"] if file.language == Language::Python => {
            args.first().and_then(text).is_some_and(|path| is_assertion(file, path))
        }
        _ => false,
    }
}

/// Returns the only value that a function returns, if it does nothing else.
fn gives(function: &Node) -> Option<&Node> {
    let body = function.kids.first()?;
    let mut kids = body.kids.iter().filter(|kid| kid.kind != Kind::Comment);
    let only = if body.kind == Kind::Block { kids.next()? } else { body };
    if body.kind == Kind::Block && kids.next().is_some() {
        return None;
    }
    if only.kind == Kind::Return { only.kids.first() } else { Some(only) }
}

/// Detects `def __eq__(self, other): return True`, `equals(Object other) { return true; }`.
fn equals_everything(language: Language, node: &Node) -> bool {
    let name = node.function().map(|function| function.name.as_str()).unwrap_or_default();
    let wanted = match (language, name) {
        (Language::Python, "__eq__") | (Language::Java, "equals") => Literal::True,
        (Language::Python, "__ne__") => Literal::False,
        _ => return false,
    };
    gives(node).is_some_and(|value| value.kind == Kind::Literal(wanted))
}

/// Detects a JUnit extension that gets the failure of a test and does not rethrow it.
fn takes_failures(language: Language, node: &Node) -> bool {
    let name = node.function().map(|function| function.name.as_str()).unwrap_or_default();
    let throws = || node.any(&|node| node.kind == Kind::Throw);
    language == Language::Java
        && match name {
            "handleTestExecutionException" => !throws(),
            "interceptTestMethod" | "interceptTestTemplateMethod" => {
                let caught = node.any(&|node| matches!(node.kind, Kind::Handler(_)));
                let proceeds = node.any(&|node| node.called() == "proceed");
                !proceeds || caught && !throws()
            }
            _ => false,
        }
}

/// Detects a Rust macro with the name of a standard assertion.
fn is_macro(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("macro_rules!") else { return false };
    let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(
        name.as_str(),
        "assert"
            | "assert_eq"
            | "assert_ne"
            | "debug_assert"
            | "debug_assert_eq"
            | "debug_assert_ne"
            | "panic"
            | "matches"
    )
}
