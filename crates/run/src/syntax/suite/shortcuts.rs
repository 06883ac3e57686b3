//! Fixed answers to fixed questions in code that is no test: `if total == 100 and parts == 3: return [34, 33, 33]`.
//!
//! Whether one is a rule of its own or the example of a test by heart is told by whoever sees the tests too. Here only the
//! form counts: equalities with literals, nothing but literals returned, and a function that computes something otherwise.

use acquit_core::agent::shorten;
use acquit_core::check::outline::{Shortcut, TEXT, literals};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};
use super::scope::File;

/// The most that are told of one file.
const MOST: usize = 500;

/// The shortcuts of a file.
pub(super) fn find(file: &File<'_>, is_test: &dyn Fn(&Node) -> bool) -> Vec<Shortcut> {
    let mut found = Vec::new();
    for (name, function) in &file.functions {
        if is_test(function) || !computes(file.language, function) {
            continue;
        }
        for node in function.all() {
            match node.kind {
                Kind::If => found.extend(condition(name, node)),
                Kind::Match => found.extend(node.kids.iter().filter_map(|arm| self::arm(name, arm))),
                _ => {}
            }
            if found.len() >= MOST {
                return found;
            }
        }
    }
    found.sort_by_key(|shortcut| shortcut.line);
    found
}

/// Whether a function gives something that is not written down in it.
fn computes(language: Language, function: &Node) -> bool {
    let given = |node: &Node| node.kids.first().is_some_and(|value| !is_fixed(value));
    let returns = function.any(&|node| node.kind == Kind::Return && given(node));
    let body = function.kids.first().filter(|body| body.kind == Kind::Block);
    let last = body.and_then(|body| body.kids.iter().rev().find(|kid| kid.kind != Kind::Comment));
    returns || language == Language::Rust && last.is_some_and(|last| !is_fixed(last))
}

/// Nothing but literals, perhaps in lists, or in the call that makes a value of one.
fn is_fixed(node: &Node) -> bool {
    let inner = |nodes: &[Node]| !nodes.is_empty() && nodes.iter().all(is_fixed);
    match &node.kind {
        Kind::Literal(_) => true,
        Kind::List | Kind::Unary(_) | Kind::Statement | Kind::Pair(_) | Kind::Other => inner(&node.kids),
        // `Some(3)`, `Decimal("1.5")`, `List.of(1, 2)`: a type's name.
        Kind::Call => {
            let path = node.kids.first().map(|callee| callee.path()).unwrap_or_default();
            path.iter().any(|word| word.starts_with(char::is_uppercase)) && inner(node.args())
        }
        _ => false,
    }
}

fn condition(function: &str, node: &Node) -> Option<Shortcut> {
    let (condition, then) = (node.kids.first()?, node.kids.get(1)?);
    let mut inputs = Vec::new();
    if !equalities(condition, &mut inputs) {
        return None;
    }
    shortcut(function, node, inputs, answer(then)?)
}

/// An arm of a choice whose pattern is made of literals.
fn arm(function: &str, arm: &Node) -> Option<Shortcut> {
    let value = arm.kids.last()?;
    // `switch { case a == 5 && b == 10: return 4 }`.
    let mut asked = Vec::new();
    if arm.kids.len() > 1 && arm.kids.first().is_some_and(|first| equalities(first, &mut asked)) {
        return shortcut(function, arm, asked, answer(value)?);
    }
    let whole = arm.raw();
    let at = whole.find(value.raw())?;
    let pattern = whole.get(..at)?.trim_start_matches("case ");
    let names = pattern.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '"');
    let bound = names.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).count();
    let quoted = pattern.contains(['"', '\'']);
    if bound > 0 && !quoted {
        return None;
    }
    shortcut(function, arm, literals(pattern), answer(value)?)
}

fn shortcut(function: &str, node: &Node, inputs: Vec<String>, answer: &Node) -> Option<Shortcut> {
    let output = literals(answer.raw());
    (!inputs.is_empty() && !output.is_empty()).then(|| Shortcut {
        function: shorten(function, TEXT),
        line: node.line,
        text: shorten(&node.text(), TEXT),
        inputs,
        output,
    })
}

/// Whether a condition is made of nothing but equalities with literals, which are collected.
fn equalities(node: &Node, inputs: &mut Vec<String>) -> bool {
    match (&node.kind, node.kids.as_slice()) {
        (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "and" | "&&") => {
            equalities(left, inputs) && equalities(right, inputs)
        }
        (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "==" | "===" | "is") => {
            equal(left, right, inputs)
        }
        (Kind::Binary(sign), [left, right]) if sign == "in" && right.kind == Kind::List => {
            right.kids.len() == 1 && right.kids.iter().all(|only| equal(left, only, inputs))
        }
        (Kind::Call, [callee, other]) if matches!(node.called(), "equals" | "eq") => {
            callee.kids.first().is_some_and(|object| equal(object, other, inputs))
        }
        (Kind::Other | Kind::Statement, [only]) => equalities(only, inputs),
        _ => false,
    }
}

fn equal(left: &Node, right: &Node, inputs: &mut Vec<String>) -> bool {
    let literal = match (is_fixed(left), is_fixed(right)) {
        (false, true) => right,
        (true, false) => left,
        _ => return false,
    };
    let words = matches!(literal.kind, Kind::Literal(Literal::True | Literal::False | Literal::None));
    inputs.extend(literals(literal.raw()));
    !words
}

/// The fixed value that a branch gives.
fn answer(branch: &Node) -> Option<&Node> {
    let last = match branch.kind {
        Kind::Block => {
            let mut kids = branch.kids.iter().filter(|kid| kid.kind != Kind::Comment);
            let only = kids.next()?;
            if kids.next().is_some() {
                return None;
            }
            return answer(only);
        }
        Kind::Return => branch.kids.first()?,
        _ => branch,
    };
    is_fixed(last).then_some(last)
}
