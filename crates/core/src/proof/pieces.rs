//! Splits the code of a file outside of tests into pieces: declarations for others, and code that runs by itself.

use std::sync::LazyLock;

use regex::Regex;

use crate::check::cases::{Case, cases};
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// Returns the code outside of tests in pieces that start at the first column, without imports.
pub(super) fn rest(source: &Source, tests: &[Case]) -> Vec<String> {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"^(import\b|from\b|use\b|package\b|pub use\b|const\s.*\brequire\(|"|\)|\}\s*from\b)"#)
    });
    let mut items: Vec<String> = Vec::new();
    let mut at = 0;
    let mut text = String::new();
    for case in tests {
        if case.whole.start < at {
            continue;
        }
        text.push_str(&bare(source, at..case.whole.start));
        text.push_str("\n\n");
        at = case.whole.end;
    }
    text.push_str(&bare(source, at..source.text.len()));
    let mut importing = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let begins = !line.starts_with([' ', '\t', '}', ')', ']']);
        if begins {
            importing = IMPORT.is_match(line);
        }
        let squeezed: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match items.last_mut() {
            _ if importing => {}
            Some(last) if !begins => {
                last.push('\n');
                last.push_str(&squeezed);
            }
            _ => items.push(squeezed),
        }
    }
    items
}

/// Returns a range without its comments.
fn bare(source: &Source, range: std::ops::Range<usize>) -> String {
    let text = source.text.get(range.clone()).unwrap_or_default();
    text.char_indices()
        .filter(|(at, c)| *c == '\n' || source.class(range.start + at) != Class::Comment)
        .map(|(_, c)| c)
        .collect()
}

/// Returns whether a piece only declares something, without effect on code that does not use it.
pub(super) fn is_declaration(item: &str) -> bool {
    static DECLARES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(export |default |pub(\(\w+\))? |async |static |private |public |protected |final |declare )*(def|class|function|const|let|var|func|fn|struct|enum|trait|type|interface|mod|impl|record)\b|^[A-Z_][A-Z0-9_]*\s*(:[^=]*)?=|^@|^#\[|^[\])};,]+$|^['\x22]use \w+['\x22];?$",
        )
    });
    static ACTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"autouse|pytest_\w+|monkeypatch|func (init|TestMain)\(|\bexpect\.(extend|addSnapshotSerializer)|\b(before|after)(Each|All)?\(|prototype|@(Before|After)|setUp|tearDown|setattr|__eq__|macro_rules|\bimpl\b.*\bfor\b",
        )
    });
    DECLARES.is_match(item) && !ACTS.is_match(item)
}

/// Returns whether a file only declares functions and values for others: it has no test, and no assertion at its top
/// level.
pub(super) fn only_declares(language: Language, text: &str) -> bool {
    let source = Source::new(language, text.to_owned());
    let is_function = |item: &str| item.contains("=>") || item.contains("function");
    let asserts = |item: &str| !is_function(item) && (item.contains("assert") || item.contains("expect("));
    let items = rest(&source, &[]);
    cases(language, &source).is_empty()
        && !items.is_empty()
        && items.iter().all(|item| is_declaration(item) && !asserts(item))
}
