//! The vocabulary of assertions in all libraries: what a matcher demands by its name, and which names assert.

use acquit_core::check::outline::Strength;

use super::super::ir::{Kind, Literal, Node};

/// Links of a chain without a separate meaning.
pub(super) const FILLERS: [&str; 30] = [
    "to",
    "be",
    "been",
    "is",
    "that",
    "which",
    "and",
    "has",
    "have",
    "with",
    "at",
    "of",
    "same",
    "but",
    "does",
    "still",
    "also",
    "resolves",
    "rejects",
    "deep",
    "own",
    "nested",
    "ordered",
    "should",
    "Should",
    "eventually",
    "returns",
    "soft",
    "an",
    "a",
];
/// chai properties that assert when accessed.
pub(super) const PROPERTIES: [&str; 16] = [
    "true",
    "false",
    "ok",
    "null",
    "undefined",
    "exist",
    "empty",
    "NaN",
    "called",
    "calledOnce",
    "calledTwice",
    "notCalled",
    "finite",
    "sealed",
    "frozen",
    "extensible",
];
/// Names of functions that start an assertion chain.
pub(super) const ROOTS: [&str; 12] = [
    "expect",
    "Expect",
    "Ω",
    "assertThat",
    "assert_that",
    "expectThat",
    "expectTypeOf",
    "expectObservable",
    "assertThatThrownBy",
    "assertThatCode",
    "then",
    "StepVerifier",
];
/// Matchers that check that there is something, or its type. Without `to`, `be`, `is`, `assert` and underscores.
pub(super) const SHAPES: [&str; 50] = [
    "defined",
    "truthy",
    "falsy",
    "notnull",
    "notnone",
    "notnil",
    "nonnull",
    "instanceof",
    "isinstance",
    "isinstanceof",
    "instance",
    "exist",
    "exists",
    "ok",
    "anything",
    "type",
    "typeof",
    "havebeencalled",
    "called",
    "noerror",
    "error",
    "err",
    "iserror",
    "isok",
    "noterror",
    "panics",
    "notpanics",
    "doesnotthrow",
    "notthrow",
    "doesnotraise",
    "callable",
    "notundefined",
    "implements",
    "a",
    "an",
    "isa",
    "istype",
    "notisinstance",
    "succeed",
    "haveoccurred",
    "any",
    "present",
    "doesnotthrowanyexception",
    "nothrow",
    "iferror",
    "notthrows",
    "notthrowsasync",
    "errors",
    "isdefined",
    "notthrown",
];
/// Parts of matcher names that check only a part.
pub(super) const PARTS: [&str; 35] = [
    "contain",
    "include",
    "match",
    "greater",
    "less",
    "above",
    "below",
    "within",
    "between",
    "length",
    "size",
    "startswith",
    "endswith",
    "startwith",
    "endwith",
    "regex",
    "subset",
    "superset",
    "key",
    "property",
    "oneof",
    "substring",
    "notempty",
    "count",
    "positive",
    "negative",
    "atleast",
    "atmost",
    "hasattr",
    "elementsmatch",
    "like",
    "members",
    "member",
    "hasitem",
    "intersect",
];
/// Errors so general that they include a failed assertion.
pub(super) const GENERAL: [&str; 9] = [
    "Exception",
    "BaseException",
    "Throwable",
    "Error",
    "AssertionError",
    "AssertionFailedError",
    "RuntimeException",
    "any",
    "unknown",
];

/// Strips the words that all matchers share from a name.
pub(super) fn essential(name: &str) -> String {
    let lower: String =
        name.chars().filter(|char| *char != '_' && *char != '!').flat_map(char::to_lowercase).collect();
    let mut rest = lower.as_str();
    for prefix in ["debugassert", "propassert", "assert", "to", "be", "is", "that"] {
        rest = rest.strip_prefix(prefix).unwrap_or(rest);
    }
    rest.to_owned()
}

/// Returns how much a matcher with this name says.
pub(super) fn strength(name: &str, arguments: usize) -> Strength {
    let name = essential(name);
    // `toMatchSnapshot` checks the whole value, although its name contains a word for a part.
    if name.contains("snapshot") {
        return Strength::Exact;
    }
    let negative = name.starts_with("not") || name.starts_with("ne") && name.len() <= 3;
    if SHAPES.contains(&name.as_str()) || (name.starts_with("throw") && arguments == 0) {
        Strength::Shape
    } else if negative || PARTS.iter().any(|part| name.contains(part)) && !name.contains("exactly") {
        Strength::Partial
    } else {
        Strength::Exact
    }
}

/// Returns whether a name says that its function asserts something.
pub(super) fn asserts_by_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    if lower.contains("assert") {
        return !lower.contains("assertions");
    }
    if matches!(lower.as_str(), "check_output" | "check_call" | "checkout" | "verify_none" | "shouldskip") {
        return false;
    }
    ["verify", "check", "expect", "ensure", "should", "must"].iter().any(|word| {
        let Some(rest) = lower.strip_prefix(word) else { return lower.contains(&format!("_{word}_")) };
        let next = name.get(word.len()..).and_then(|rest| rest.chars().next());
        rest.is_empty() || next.is_some_and(|next| next == '_' || next.is_uppercase() || next == '!')
    })
}

pub(super) fn is_throwing(essence: &str) -> bool {
    (essence.starts_with("raises")
        || essence.starts_with("throws")
        || essence.starts_with("rejects")
        || essence.starts_with("warns"))
        && !essence.starts_with("throwsno")
}

pub(super) fn is_equality(essence: &str) -> bool {
    ["equal", "eq", "same", "close", "exact", "is", "identical", "alike", "isclose"]
        .iter()
        .any(|word| essence.contains(word))
        || essence.is_empty()
}

/// Returns whether a matcher checks for the same object rather than an equal one: `toBe`.
pub(super) fn is_identity(essence: &str) -> bool {
    matches!(essence, "" | "same" | "sameas" | "sameinstance" | "strictequal" | "identical")
}

/// Strips JUnit 4's message, which comes first: a string, followed by what is compared.
pub(super) fn without_message<'n, 'm>(args: &'m [&'n Node]) -> &'m [&'n Node] {
    let is_text = |node: &Node| node.kind == Kind::Literal(Literal::Text);
    match args {
        [first, second, third]
            if is_text(first)
                && !is_text(third)
                && third.kind != Kind::Literal(Literal::Number)
                && !is_text(second) =>
        {
            &args[1..]
        }
        [first, second, third] if is_text(first) && !is_text(second) && third.kind == Kind::Call => {
            &args[1..]
        }
        _ => args,
    }
}
