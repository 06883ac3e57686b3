//! What a task wants by name and the change does not show: a function or a type that neither the code nor the tests of the change have
//! to do with, an error that no test of the change expects, the result of an example.
//!
//! Tests of a change that does half of what was asked ask for that half. What the other half is called stands in the task.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::files::is_of_tests;
use super::{TASK_UNASSERTED, texts};
use crate::check::Finding;
use crate::check::cases::cases;
use crate::check::diff::{Diff, FileChange};
use crate::check::functions::functions;
use crate::check::source::{Language, Source};
use crate::pattern::pattern;

/// What a task wants by name and its change does not show. Only of changes that write tests.
pub(super) fn unshown(diff: &Diff, task: &str) -> Vec<Finding> {
    let Some(shown) = Shown::of(diff) else { return Vec::new() };
    let missing = unexpected_error(task, &shown)
        .or_else(|| missing_item(task, &shown))
        .or_else(|| missing_example(task, &shown))
        .or_else(|| missing_name(task, &shown));
    missing.into_iter().map(|what| Finding::new(TASK_UNASSERTED, &shown.path, None, what)).collect()
}

/// What a change is about: its lines, and the functions and tests that they stand in.
struct Shown {
    /// The first file of tests that it writes.
    path: String,
    language: Language,
    /// Of its tests, with the helpers that they call, and of data.
    tests: String,
    /// Of everything.
    all: String,
    /// The names of tests.
    names: BTreeSet<String>,
}

impl Shown {
    /// `None` if the change writes no tests.
    fn of(diff: &Diff) -> Option<Self> {
        let mut first = None;
        let (mut tests, mut code, mut names) = (String::new(), String::new(), BTreeSet::new());
        for file in &diff.files {
            // A file that the change edits counts as mentioned.
            for path in [&file.old, &file.new].into_iter().flatten() {
                code.push_str(path);
                code.push('\n');
            }
            let Some((_, after)) = texts(file).filter(|_| file.new.is_some()) else { continue };
            let path = file.path();
            let Some(language) = Language::of(path) else {
                // Words about the change show nothing; whatever else is no code may be data of tests.
                if !is_of_words(path) {
                    let lines: Vec<&str> = file.added().map(|line| line.text.as_str()).collect();
                    tests.push_str(&lines.join("\n"));
                    tests.push('\n');
                }
                continue;
            };
            let source = Source::new(language, after);
            let around = Around::of(file, language, &source);
            names.extend(around.names);
            if is_of_tests(path) || around.writes_inline {
                first = first.or_else(|| file.added().next().map(|_| (path.to_owned(), language)));
                tests.push_str(&around.text);
            } else {
                code.push_str(&around.text);
            }
        }
        let (path, language) = first?;
        Some(Self { path, language, all: format!("{tests}\n{code}"), tests, names })
    }
}

fn is_of_words(path: &str) -> bool {
    std::path::Path::new(path)
        .extension()
        .is_some_and(|end| ["md", "rst", "adoc"].iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// The text around the lines that a change adds to a file or takes from it.
struct Around {
    text: String,
    names: BTreeSet<String>,
    /// Whether it writes tests beside code.
    writes_inline: bool,
}

impl Around {
    fn of(file: &FileChange, language: Language, source: &Source) -> Self {
        static APART: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"^\s*(import\b|from\b|use\b|pub use\b|package\b|const .*\brequire\(|#|//|\)|\}|\]|$)")
        });
        let tests = cases(language, source);
        let all = functions(language, source);
        let mut wholes: Vec<std::ops::Range<usize>> = tests.iter().map(|case| case.whole.clone()).collect();
        let heads = |at: usize| source.line(source.line_of(at)).start;
        wholes.extend(all.iter().map(|function| heads(function.at)..function.body.end));
        let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
        let (mut lines, mut whole, mut writes_inline) = (String::new(), false, false);
        for line in file.added() {
            lines.push_str(&line.text);
            lines.push('\n');
            let at = source.line(line.number);
            let start = at.start + (line.text.len() - line.text.trim_start().len());
            writes_inline |=
                language == Language::Rust && tests.iter().any(|case| case.whole.contains(&start));
            let near = wholes.iter().filter(|range| range.contains(&start)).min_by_key(|range| range.len());
            match near {
                Some(range) => {
                    taken.insert((range.start, range.end));
                }
                // A table beside the tests is read by any of them.
                None => whole |= !APART.is_match(&line.text),
            }
        }
        let mut text = lines;
        for (start, end) in taken {
            text.push_str(source.text.get(start..end).unwrap_or_default());
            text.push('\n');
        }
        if whole && is_of_tests(file.path()) {
            text.clone_from(&source.text);
        }
        // What the tests call beside them.
        let called: Vec<&str> = all
            .iter()
            .filter(|function| is_of_tests(file.path()) && has_word(&text, &function.name))
            .filter_map(|function| source.text.get(function.at..function.body.end))
            .collect();
        let called = called.join("\n");
        text.push_str(&called);
        text.push('\n');
        Self { text, names: tests.into_iter().map(|case| case.name).collect(), writes_inline }
    }
}

/// The sentences of a task that wish for something, from where they do, with what stands before.
fn wishes(task: &str) -> Vec<(&str, &str)> {
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.;!?]\s+|\n\s*\n"));
    static WISH: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(must|should|shall|has to|have to|needs? to|please|make (it|that|this|them))\b|^\W*(add|make|let|return|throw|raise|report|refuse|reject|support|implement)\b",
        )
    });
    let sentences = END.split(task).map(str::trim);
    sentences.filter_map(|text| WISH.find(text).map(|found| text.split_at(found.start()))).collect()
}

/// Returns whether a sentence wants something to stay as it is.
pub(super) fn keeps(wish: &str) -> bool {
    static KEEPS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:must|should|shall|may|can|do|does|needs?|has|have)(?: to)?\s+(?:not|never)\b|\b(?:mus|should|do|does|ca)n't\b|\bcannot\b|\b(?:stays?|keeps?|remains?|unchanged|untouched|as (?:it|they) (?:is|are|was|were)|the same|continues? to|still)\b",
        )
    });
    KEEPS.is_match(wish)
}

/// Whether the words before something say that it is not wanted, or what happens now.
fn is_denied(before: &str) -> bool {
    static DENIED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(\b(not|never|no|no longer|without|instead of|rather than|than|catch|catches|handle|handles|ignore|swallow|like|unlike|as)\b|n't)(\s+[\w`]+){0,3}\W*$|\b(throws|raises|panics|crashes|fails|ends)\b(\s+\w+){0,2}\W*$",
        )
    });
    DENIED.is_match(before)
}

/// An error that the task wants, where no test of the change expects any.
fn unexpected_error(task: &str, shown: &Shown) -> Option<String> {
    static ERROR: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(\w*[a-z]\w*(?:Error|Exception)|Err[A-Z]\w+)\b|\b(?i:(?:an?|the|raise|throw|return)\s+(?:[a-z]+\s+){0,2}(?:error|exception))\b|\b(?i:be errors)\b",
        )
    });
    let expects = expects(shown.language);
    if expects.is_match(&shown.tests) {
        return None;
    }
    let quotes: Vec<String> = quoted(task);
    let is_said = quotes.iter().any(|text| text.contains(' ') && plain(&shown.tests).contains(&plain(text)));
    for (before, wish) in wishes(task).into_iter().filter(|_| !is_said) {
        for found in ERROR.find_iter(wish) {
            let ahead = wish.get(..found.start()).unwrap_or_default();
            // What is wished for stands behind the wish.
            let (near, name) = (if ahead.is_empty() { before } else { ahead }, found.as_str());
            if ahead.is_empty() || is_denied(near) || has_word(&shown.tests, name) {
                continue;
            }
            return Some(format!(
                "the task wants {name} (\"{}\"), and no test of the change expects an error: show with a test that there is one",
                short(wish)
            ));
        }
    }
    None
}

/// A text in quotes that an item of a list wants, and that no test of the change looks for: "3. … is a LockError "no version"".
fn missing_item(task: &str, shown: &Shown) -> Option<String> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*(?:\d+[.)]|[-*])\s+(.+)$"));
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#""([^"\n]{4,80})""#));
    static NOW: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(now|currently|today|wrongly|says|complains|shows|gives|prints|called|named|such as|like|e\.g\.)\b",
        )
    });
    let said = plain(&shown.tests);
    for item in ITEM.captures_iter(task).filter_map(|it| it.get(1)) {
        for text in QUOTED.captures_iter(item.as_str()).filter_map(|it| it.get(1)) {
            let ahead = item.as_str().get(..text.start()).unwrap_or_default();
            // A single letter stands for a value.
            let mut parts =
                text.as_str().split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1).peekable();
            let is_text = text.as_str().contains(' ') && parts.peek().is_some();
            if is_text
                && !NOW.is_match(ahead)
                && !is_denied(ahead.trim_end_matches('"'))
                && !parts.all(|part| has_word(&said, &part.to_lowercase()))
            {
                return Some(format!(
                    "the task wants \"{}\" (\"{}\"), and no test of the change looks for it: do all items of the list, and show each \
                     with a test",
                    text.as_str(),
                    short(item.as_str())
                ));
            }
        }
    }
    None
}

/// How tests say that they expect a failure.
fn expects(language: Language) -> &'static Regex {
    static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)raises|except\b|stderr|\w*exit|status|return_?code|caplog|capsys|error|exception|invalid",
        )
    });
    static SCRIPT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)throws?\b|rejects|catch\b|error|status|stderr|exit|invalid"));
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"is_err|unwrap_err|expect_err|\bErr\b|should_panic|(?i:error|stderr|status|invalid)")
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"err\w* == nil|ErrorIs|errors\.|[wW]antErr|[wW]ant\w*Err|\.Error\(\)|\bErr[A-Z]|Error\{|recover\(|(?i:wantfail|invalid|code|status)|err\w* [!=]= \w*[eE]rr",
        )
    });
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)assertThrows|catch\b|exception|expected\s*=|error|status|invalid"));
    match language {
        Language::Python => &PYTHON,
        Language::Script => &SCRIPT,
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

/// The result of an example that the task gives, where no test of the change has it: "Example: limit 2, asked at 700: 300."
fn missing_example(task: &str, shown: &Shown) -> Option<String> {
    static EXAMPLE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)(?:^|\W)(?:for example|examples?\s*:|e\.g\.)[,:]?\s*([^\n]{4,200})"));
    static RESULT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"(?:->|→|=>|==|=|:|\b(?:gives|returns|becomes|yields|is|are|costs|prints|for)\b)\s*[`"']?(-?\d[\d.,_]*\d|-?\d+)\b[`"']?[^\w`"']*$|(?:->|→|=>|==|:|\b(?:gives|returns|becomes|yields|is|prints)\b)\s*(?:`([^`\n]+)`|"([^"\n]+)")\W*$"#,
        )
    });
    static NOW: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)\b(now|currently|today|wrong\w*|but|instead|crash\w*|fails?|broken|not)\b")
    });
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.;]\s|[.;]*$"));
    let said = plain(&shown.tests);
    for example in EXAMPLE.captures_iter(task).filter_map(|it| it.get(1)) {
        let end = END.find(example.as_str()).map_or(example.len(), |end| end.start());
        let text = within_brackets(&example.as_str()[..end]);
        if NOW.is_match(text) {
            continue;
        }
        let Some(found) = RESULT.captures(text) else { continue };
        let Some(result) = found.iter().skip(1).flatten().next().map(|it| it.as_str()) else { continue };
        let digits: Vec<&str> =
            result.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
        let is_said =
            said.contains(&plain(result)) || digits.iter().all(|part| has_word(&said, &part.to_lowercase()));
        // Alone a result is no example: what leads to it stands before.
        let asks = text.get(..found.get(0).map_or(0, |it| it.start())).unwrap_or_default();
        if !is_said && asks.chars().any(|c| c.is_ascii_digit() || "`\"'(".contains(c)) {
            return Some(format!(
                "the task gives an example (\"{}\"), and no test of the change has its result `{result}`: make a test of it",
                short(text)
            ));
        }
    }
    None
}

/// A text up to a bracket that closes and was opened before it.
fn within_brackets(text: &str) -> &str {
    let mut depth = 0_i32;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth < 0
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// A function or a type that the task wants something of, and that the change has nothing to do with.
fn missing_name(task: &str, shown: &Shown) -> Option<String> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        // Words without marks, such as macOS, PostgreSQL and x86_64, are names of other things.
        pattern(
            r"`(?:[A-Za-z_]\w*(?:\.|::))*([A-Za-z_]\w*)(?:\(\))?`|\b([A-Za-z_]\w*)\(|\b([A-Z]\w*(?:Error|Exception))\b",
        )
    });
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)^test|tests?$|^(?:null|none|true|false|nil|json|todo)$"));
    for (before, wish) in wishes(task).into_iter().filter(|(_, wish)| !keeps(wish)) {
        let sentence = format!("{before}{wish}");
        for found in NAME.captures_iter(&sentence) {
            let Some(name) = found.iter().skip(1).flatten().next() else { continue };
            let ahead = sentence.get(..found.get(0).map_or(0, |it| it.start())).unwrap_or_default();
            let is_test = TEST.is_match(name.as_str()) || shown.names.contains(name.as_str());
            if name.len() < 3 || is_test || is_denied(ahead) || has_word(&shown.all, name.as_str()) {
                continue;
            }
            return Some(format!(
                "the task wants something of `{}` (\"{}\"), and neither the code nor the tests of the change have to do with it: do that, \
                 too, and show it with a test",
                name.as_str(),
                short(&sentence)
            ));
        }
    }
    None
}

/// Texts in quotes.
fn quoted(task: &str) -> Vec<String> {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"`([^`\n]{2,80})`|"([^"\n]{2,80})""#));
    QUOTED
        .captures_iter(task)
        .filter_map(|it| it.get(1).or_else(|| it.get(2)))
        .map(|it| it.as_str().to_owned())
        .collect()
}

/// A text without what differs between notations.
fn plain(text: &str) -> String {
    text.replace(['\\', '_'], "").replace('\'', "\"").to_lowercase()
}

/// A sentence that is short enough for a message.
fn short(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}
