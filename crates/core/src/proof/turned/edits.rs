//! Inverts assertions in each language.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// A range of a text and its replacement.
pub(super) type Edit = (Range<usize>, String);

/// Pairs of assertions with opposite meaning.
const OPPOSITE: [(&str, &str); 22] = [
    ("assertEqual", "assertNotEqual"),
    ("assertTrue", "assertFalse"),
    ("assertIn", "assertNotIn"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertListEqual", "assertNotEqual"),
    ("assertDictEqual", "assertNotEqual"),
    ("assert_eq!", "assert_ne!"),
    ("assertEquals", "assertNotEquals"),
    ("assertNull", "assertNotNull"),
    ("assertSame", "assertNotSame"),
    ("assert.equal", "assert.notEqual"),
    ("assert.strictEqual", "assert.notStrictEqual"),
    ("assert.deepEqual", "assert.notDeepEqual"),
    ("assert.deepStrictEqual", "assert.notDeepStrictEqual"),
    ("assert.throws", "assert.doesNotThrow"),
    ("assert.rejects", "assert.doesNotReject"),
    ("assert.Equal", "assert.NotEqual"),
    ("require.Equal", "require.NotEqual"),
    ("assert.True", "assert.False"),
    ("require.True", "require.False"),
    ("assert.Nil", "assert.NotNil"),
];

/// Returns the edits that invert the assertions of a range, in order.
pub(super) fn of(language: Language, source: &Source, range: Range<usize>) -> Vec<Edit> {
    let mut edits = match language {
        Language::Python => statements(source, &range),
        Language::Rust => wrapped(source, &range, "assert!("),
        Language::Script => [
            wrapped(source, &range, "assert("),
            wrapped(source, &range, "assert.ok("),
            fluent(source, &range),
        ]
        .concat(),
        Language::Go => conditions(source, &range),
        Language::Java => Vec::new(),
    };
    edits.extend(named(language, source, &range));
    edits.sort_by_key(|(at, _)| at.start);
    edits.dedup_by(|b, a| b.0.start < a.0.end);
    // An assertion that does not end within its test was misread.
    if edits.iter().any(|(at, _)| at.end > range.end) {
        return Vec::new();
    }
    edits
}

fn bare<'a>(source: &'a Source, range: &Range<usize>) -> &'a str {
    source.bare.get(range.clone()).unwrap_or_default()
}

/// Inverts assertions whose names have an opposite.
fn named(language: Language, source: &Source, range: &Range<usize>) -> Vec<Edit> {
    let text = bare(source, range);
    // Java imports each assertion by name.
    let jupiter = source.text.contains("org.junit.jupiter");
    let before = match language {
        Language::Java if jupiter => "org.junit.jupiter.api.Assertions.",
        Language::Java => "org.junit.Assert.",
        Language::Rust | Language::Script | Language::Python | Language::Go => "",
    };
    let both = OPPOSITE.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
    let mut edits = Vec::new();
    for (name, other) in both {
        for (at, _) in text.match_indices(name) {
            let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let ends = text[at + name.len()..].starts_with('(')
                || name.ends_with('!') && text[at + name.len()..].starts_with(['(', '[', '{']);
            let start = range.start + at;
            let end = start + name.len();
            let qualified = text[..at].ends_with('.');
            if begins && ends && !edits.iter().any(|(known, _): &Edit| known.start == start) {
                let prefix = if qualified { "" } else { before };
                edits.push((start..end, format!("{prefix}{other}")));
            }
        }
    }
    edits
}

/// Inverts `assert condition`, also in brackets over several lines, without its message.
fn statements(source: &Source, range: &Range<usize>) -> Vec<Edit> {
    static ASSERT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[ \t]*assert[ \t]+"));
    let text = bare(source, range);
    let found = ASSERT.find_iter(text).map(|found| range.start + found.end());
    found.flat_map(|start| negated(start..argument_end(source, start, "\n,#"))).collect()
}

/// Inverts the first argument of each call that starts like this.
fn wrapped(source: &Source, range: &Range<usize>, call: &str) -> Vec<Edit> {
    let text = bare(source, range);
    let own = |at: &usize| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    let found = text.match_indices(call).map(|(at, _)| at).filter(own);
    let starts = found.map(|at| range.start + at + call.len());
    starts.flat_map(|start| negated_by("!", start..argument_end(source, start, ",)"))).collect()
}

/// Inverts `expect(x).toBe(y)`, `expect(x).to.equal(y)`.
fn fluent(source: &Source, range: &Range<usize>) -> Vec<Edit> {
    static MATCHER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\)\s*(?:\.(?:resolves|rejects))?(\.not)?(\.to)(?:[A-Z]\w*\s*\(|\.\w)"));
    let text = bare(source, range);
    let found = MATCHER.captures_iter(text).filter_map(|found| {
        let at =
            |part: usize| found.get(part).map(|part| range.start + part.start()..range.start + part.end());
        match (at(1), at(2)) {
            (Some(not), _) => Some((not, String::new())),
            (None, Some(to)) => Some((to.start..to.start, ".not".to_owned())),
            (None, None) => None,
        }
    });
    found.collect()
}

/// Inverts conditions of Go under which a test fails.
fn conditions(source: &Source, range: &Range<usize>) -> Vec<Edit> {
    static IF: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bif\s+([^{}\n]+?)\s*\{\n"));
    static FAILS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b\w+\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)\("));
    let text = bare(source, range);
    let found = IF.captures_iter(text).filter_map(|found| {
        let (whole, condition) = (found.get(0)?, found.get(1)?);
        let open = range.start + whole.end() - 2;
        let body = source.bare.get(source.balanced(open))?;
        // `if got := f(); got != 4 {`.
        let start = condition.as_str().rfind("; ").map_or(condition.start(), |at| condition.start() + at + 2);
        let asked = text.get(start..condition.end())?;
        // A failed preparation is not an assertion.
        let fails = FAILS.is_match(body) && asked.trim() != "err != nil";
        fails.then(|| range.start + start..range.start + condition.end())
    });
    found.flat_map(|at| negated_by("!", at)).collect()
}

fn negated(at: Range<usize>) -> Vec<Edit> {
    negated_by("not ", at)
}

/// Puts a condition in brackets after a negation.
fn negated_by(sign: &str, at: Range<usize>) -> Vec<Edit> {
    if at.is_empty() {
        return Vec::new();
    }
    vec![(at.start..at.start, format!("{sign}(")), (at.end..at.end, ")".to_owned())]
}

/// Returns the end of an expression: the first of these characters outside of brackets.
fn argument_end(source: &Source, start: usize, signs: &str) -> usize {
    let mut at = start;
    while let Some(byte) = source.bare.as_bytes().get(at) {
        let sign = char::from(*byte);
        if matches!(sign, '(' | '[' | '{') {
            at = source.balanced(at).end;
            continue;
        }
        if signs.contains(sign) || sign == '#' && source.class(at) == Class::Comment {
            break;
        }
        at += 1;
    }
    // Trailing blanks and comments are not part of it.
    let text = source.bare.get(start..at).unwrap_or_default();
    start + text.trim_end().len()
}
