//! Finds the tests in a source file: where they are, what they assert, and whether they are skipped.
//!
//! It uses common ways to write tests, not a grammar, so it misses a test in an unusual form. It gives a test the same
//! name before and after a change, which is enough for a comparison.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::source::{Class, Language, Source};
use crate::pattern::pattern;

/// Maximum number of tests to read from one file. A file with more is generated.
const MOST: usize = 20_000;

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name in its file.
    pub name: String,
    /// Line of the name.
    pub line: u32,
    /// Range from the first attribute or decorator to the end of the test.
    pub whole: Range<usize>,
    /// Range of its body.
    pub body: Range<usize>,
    /// Lines with assertions, in order.
    pub asserts: Vec<u32>,
    /// First line that skips it, or marks it as expected to fail.
    pub skipped: Option<u32>,
}

/// Maximum number of bytes to read of a test's attributes, or of an assertion's subject.
const HEAD: usize = 8 * 1024;

/// Returns the tests of a file, in order.
pub fn cases(language: Language, source: &Source) -> Vec<Case> {
    let found = match language {
        Language::Rust => rust(source),
        Language::Script => script(source),
        Language::Python => python(source),
        Language::Go => go(source),
        Language::Java => java(source),
    };
    let marks = marks(language);
    // Run each pattern once over the file, however deeply tests are nested.
    let asserts: Vec<usize> = assertions(language, source).collect();
    let skips: Vec<usize> = marks.body.find_iter(&source.bare).map(|found| found.start()).collect();
    let finished = found.into_iter().take(MOST).map(|found| finish(marks, source, found, &asserts, &skips));
    finished.collect()
}

/// A test whose body has not been parsed yet.
struct Found {
    name: String,
    at: usize,
    whole: Range<usize>,
    body: Range<usize>,
}

/// Matches `{ return; …`, `: return`, and the same after the arguments of an anonymous function.
static RETURNS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[^;{}]{0,200}(?:=>|\))\s*\{|[{:])\s*return[ \t]*(?:[;}\n])"));

fn finish(marks: &Marks, source: &Source, found: Found, asserts: &[usize], skips: &[usize]) -> Case {
    let Found { name, at, whole, body } = found;
    let head = source.bare.get(whole.start..body.start.min(whole.start + HEAD)).unwrap_or_default();
    let in_head = marks.head.find(head).map(|found| whole.start + found.start());
    let in_body = within(skips, &body).first().copied();
    let inside = source.bare.get(body.clone()).unwrap_or_default();
    // A test that returns at once asserts nothing, whatever follows.
    let returns = RETURNS.find(inside).map(|found| body.start + found.end() - 1);
    let skipped = in_head.or(in_body).or(returns).map(|at| source.line_of(at));
    let mut asserts: Vec<u32> = within(asserts, &body).iter().map(|at| source.line_of(*at)).collect();
    if marks.panics.is_match(head) {
        asserts.insert(0, source.line_of(whole.start));
    }
    Case { name, line: source.line_of(at), whole, body, asserts, skipped }
}

/// Returns the offsets in a range. `offsets` are ascending.
fn within<'a>(offsets: &'a [usize], range: &Range<usize>) -> &'a [usize] {
    let first = offsets.partition_point(|at| *at < range.start);
    let behind = offsets.partition_point(|at| *at < range.end);
    &offsets[first..behind.max(first)]
}

struct Marks {
    head: Regex,
    body: Regex,
    panics: Regex,
}

/// Returns the patterns that skip a test (in its head and in its body), and those that are assertions in its head.
fn marks(language: Language) -> &'static Marks {
    static RUST: LazyLock<Marks> = LazyLock::new(|| Marks {
        head: pattern(
            r"#\[\s*(ignore\b|cfg\s*\(\s*(any\s*\(\s*\)|FALSE|false)|cfg_attr\s*\([^\]]*\bignore\b)",
        ),
        body: pattern(r"^\b$"),
        panics: pattern(r"#\[\s*should_panic"),
    });
    static SCRIPT: LazyLock<Marks> = LazyLock::new(|| Marks {
        head: pattern(
            r"^(x(it|test|specify)\b|[\w.]*\.(skip|skipIf|todo|failing|fails|fixme)\b)|\b(skip|todo)\s*:\s*(true\b|`|'|\x22)",
        ),
        body: pattern(
            r"\b(this|t|ctx|context|test)\.(skip|todo|fixme)\s*\(|\b(skip|todo)\s*:\s*(true\b|'|\x22)",
        ),
        panics: pattern(r"^\b$"),
    });
    static PYTHON: LazyLock<Marks> = LazyLock::new(|| Marks {
        head: pattern(r"@\s*[\w.]*(\bskip\w*|\bxfail\b|\bexpectedFailure\b|\bSkip\w*)"),
        body: pattern(r"\b(pytest\.(skip|xfail|importorskip)|self\.skipTest)\s*\(|raise\s+[\w.]*SkipTest"),
        panics: pattern(r"^\b$"),
    });
    static GO: LazyLock<Marks> = LazyLock::new(|| Marks {
        head: pattern(r"^\b$"),
        body: pattern(r"\b\w+\.Skip(f|Now)?\s*\("),
        panics: pattern(r"^\b$"),
    });
    static JAVA: LazyLock<Marks> = LazyLock::new(|| Marks {
        head: pattern(r"@(Disabled\w*|Ignore\b)|enabled\s*=\s*false"),
        body: pattern(r"\b(Assumptions?\.)?(assumeTrue|assumeFalse|assumeThat|abort)\s*\("),
        panics: pattern(r"@Test\s*\([^)]*\bexpected\b"),
    });
    match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

/// Returns the pattern of assertions that can fail.
fn assertions(language: Language, source: &Source) -> impl Iterator<Item = usize> {
    // Match assertions by name, and helpers of the project by words that are usual in names of such helpers.
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(\w*assert\w*|panic|unreachable|check\w*|verify\w*|ensure\w*|expect_\w+|must_\w+)!?\s*[(\[{]|\.(unwrap_err|expect_err)\(",
        )
    });
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\b(assert|expect|verify|check|should|ensure|fail)\w*(\.\w+)*\s*\(|\.should\b")
    });
    static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\bassert\b|\b\w*(assert|verify|check|expect|ensure)\w*\s*\(|\b(raises|warns|fail)\s*\(")
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\(|\b(assert|require|is|qt|cmp)\.\w+\s*\(|\b(assert|require|check|verify|expect|must)\w*\s*\(",
        )
    });
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(assert|verify|expect|check|fail|ensure|should)\w*\s*\(|\bassert\s+\w"));
    let pattern: &'static Regex = match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java => &JAVA,
    };
    let all = pattern.find_iter(&source.bare);
    all.filter(|found| !is_tautology(source, found.as_str(), found.end())).map(|found| found.start())
}

/// Matches assertions that cannot fail: `assert!(true)`, `assert_eq!(1, 1)`, `expect(true)`, `assert True`.
fn is_tautology(source: &Source, name: &str, end: usize) -> bool {
    let range = if name.ends_with(['(', '[', '{']) {
        let all = source.balanced(end - 1);
        all.start + 1..all.end.saturating_sub(1)
    } else {
        end..source.line(source.line_of(end)).end.max(end)
    };
    if range.len() > HEAD {
        return false;
    }
    let mut parts = source.text.get(range).unwrap_or_default().split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let truth = matches!(first, "true" | "True" | "not False" | "!false" | "1");
    let number = first.starts_with(|char: char| char.is_ascii_digit());
    match parts.find(|part| !part.is_empty()) {
        None => truth,
        Some(second) => (truth || number) && (first == second || (truth && second.starts_with(['"', '\'']))),
    }
}

fn rust(source: &Source) -> Vec<Found> {
    static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"#\[\s*(?:\w+\s*::\s*)*(test|rstest|test_case|proptest|quickcheck|wasm_bindgen_test)\b")
    });
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bfn\s+(\w+)[^{]*\{"));
    marked(source, &ATTRIBUTE, &FUNCTION)
}

/// Returns the tests that have this mark in front. A function's pattern contains its name and ends where its body
/// begins.
fn marked(source: &Source, mark: &Regex, function: &Regex) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for mark in mark.find_iter(&source.bare) {
        // Another mark of the same test.
        if all.last().is_some_and(|last| mark.start() < last.body.start) {
            continue;
        }
        let Some(found) = function.captures_at(&source.bare, mark.end()) else { continue };
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let body = source.balanced(whole.end() - 1);
        let start = first_attribute(source, mark.start());
        all.push(Found { name: name.as_str().to_owned(), at: name.start(), whole: start..body.end, body });
    }
    all
}

/// Moves back over attributes, annotations or decorators on separate lines above `at`.
fn first_attribute(source: &Source, at: usize) -> usize {
    let mut first = source.line_of(at);
    while first > 1 {
        let line = source.bare.get(source.line(first - 1)).unwrap_or_default().trim();
        let comment = line.is_empty() && !source.line_text(first - 1).trim().is_empty();
        if !(line.starts_with("#[") || line.starts_with('@') || comment) {
            break;
        }
        first -= 1;
    }
    source.line(first).start.min(at)
}

fn script(source: &Source) -> Vec<Found> {
    static CALL: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:^|[^\w.$])((?:[xf]?(?:it|test)|x?specify)(?:\.\w+)*)\s*[(`]"));
    let mut all = Vec::new();
    for found in CALL.captures_iter(&source.bare) {
        let (Some(all_of_it), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let mut open = all_of_it.end() - 1;
        // `it.each(table)(name, …)`, also with a template as the table.
        if matches!(name.as_str().rsplit('.').next(), Some("each" | "for")) {
            let behind = if source.bare.as_bytes()[open] == b'`' {
                source.bare[open + 1..].find('`').map_or(source.bare.len(), |end| open + 2 + end)
            } else {
                source.balanced(open).end
            };
            if !source.bare[behind..].trim_start().starts_with('(') {
                continue;
            }
            open = behind + source.bare[behind..].find('(').unwrap_or(0);
        }
        if source.bare.as_bytes()[open] != b'(' {
            continue;
        }
        let call = source.balanced(open);
        // `test(name)` without a title calls something else with that name; it is not a test.
        let Some((title, behind)) = title(source, open + 1, call.end) else { continue };
        all.push(Found {
            name: title,
            at: name.start(),
            whole: name.start()..call.end,
            body: behind..call.end,
        });
    }
    all
}

/// Returns the string at the start of an argument list, and its end.
fn title(source: &Source, from: usize, end: usize) -> Option<(String, usize)> {
    let rest = source.text.get(from..end)?;
    let start = from + (rest.len() - rest.trim_start().len());
    let quote = rest.trim_start().chars().next()?;
    if matches!(quote, '"' | '\'' | '`') {
        let length = source.bare.get(start + 1..end)?.find(quote)?;
        let text = source.text.get(start + 1..start + 1 + length)?;
        return Some((text.to_owned(), start + 2 + length));
    }
    // `test(async t => …)` is a test without a name; so is one whose name is in a variable.
    let first = rest.get(..rest.find('\n').unwrap_or(rest.len()))?;
    (first.contains("=>") || first.contains("function")).then(|| ("(without a name)".to_owned(), start))
}

fn python(source: &Source) -> Vec<Found> {
    static FUNCTION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\("));
    let mut all = Vec::new();
    for found in FUNCTION.captures_iter(&source.bare) {
        let (Some(whole), Some(indent), Some(name)) = (found.get(0), found.get(1), found.get(2)) else {
            continue;
        };
        // A nested function belongs to its test.
        if all.last().is_some_and(|last: &Found| whole.start() < last.body.end) {
            continue;
        }
        let arguments = source.balanced(whole.end() - 1);
        let Some(colon) = source.bare[arguments.end..].find(':').map(|colon| arguments.end + colon) else {
            continue;
        };
        let mut end = source.line(source.line_of(colon)).end;
        let mut number = source.line_of(colon) + 1;
        loop {
            let line = source.line(number);
            if line.start >= source.text.len() {
                break;
            }
            let bare = source.bare.get(line.clone()).unwrap_or_default();
            let depth = bare.len() - bare.trim_start().len();
            // A string that continues from the line above may start at any column.
            let inside = line.start > 0 && source.class(line.start - 1) == Class::Text;
            if !bare.trim().is_empty() && !inside {
                if depth <= indent.as_str().len() {
                    break;
                }
                // A bracket that is open at the end of the line includes the next lines, whatever their indentation.
                let mut last = line.end;
                for (at, _) in bare.match_indices(['(', '[', '{']) {
                    last = last.max(source.balanced(line.start + at).end);
                }
                // The rest of the bracket's line belongs to it.
                end = last.max(source.line(source.line_of(last.saturating_sub(1))).end);
                number = number.max(source.line_of(last.saturating_sub(1)));
            }
            number += 1;
        }
        let start = decorators(source, whole.start());
        all.push(Found {
            name: name.as_str().to_owned(),
            at: name.start(),
            whole: start..end,
            body: colon..end.max(colon),
        });
    }
    all
}

/// Moves back over decorators, which may have several lines.
fn decorators(source: &Source, at: usize) -> usize {
    let mut first = source.line_of(at);
    let mut number = first;
    while number > 1 {
        number -= 1;
        let bare = source.bare.get(source.line(number)).unwrap_or_default();
        let trimmed = bare.trim_start();
        if trimmed.starts_with('@') {
            first = number;
            continue;
        }
        let blank = trimmed.is_empty() && source.line_text(number).trim().is_empty();
        if blank || trimmed.starts_with("def ") || trimmed.starts_with("class ") || trimmed.ends_with(':') {
            break;
        }
    }
    source.line(first).start
}

fn go(source: &Source) -> Vec<Found> {
    static FUNCTION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^func\s+((?:Test|Fuzz|Benchmark|Example)\w*)\s*\("));
    static METHOD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^func\s+\([^)]*\)\s+(Test\w*)\s*\("));
    let mut all = Vec::new();
    for found in FUNCTION.captures_iter(&source.bare).chain(METHOD.captures_iter(&source.bare)) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let Some(open) = source.bare[whole.end()..].find('{').map(|open| whole.end() + open) else {
            continue;
        };
        let body = source.balanced(open);
        all.push(Found {
            name: name.as_str().to_owned(),
            at: name.start(),
            whole: whole.start()..body.end,
            body,
        });
    }
    all
}

fn java(source: &Source) -> Vec<Found> {
    static ANNOTATION: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b")
    });
    static METHOD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w>\]]\s+(\w+)\s*\([^;{}()]*\)[^;{}()]*\{"));
    marked(source, &ANNOTATION, &METHOD)
}
