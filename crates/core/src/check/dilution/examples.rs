//! Code that knows its tests: it asks whether it is being tested, or has the answers of a test by heart.
//!
//! Tests cannot see either, because they are what is recognised. Both show in the change itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::files::is_of_tests;
use super::marks::Moved;
use super::words::Side;
use super::{SPECIAL_CASED, TEST_DETECTED, texts};
use crate::check::Finding;
use crate::check::diff::{FileChange, Line, Side as Mark};
use crate::check::outline::{Outline, Shortcut, literals};
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// Variables that are set where tests are run.
const SET_BY_PIPELINES: &str = r#"["'`](CI|GITHUB_ACTIONS|GITLAB_CI|TRAVIS|CIRCLECI|BUILDKITE|TESTING|TEST_MODE|TEST_ENV|UNIT_TEST(ING|S)?|RUNNING_TESTS?|IS_TEST)["'`]"#;

/// How code of a language finds out that a test runs it.
fn signs(language: Language) -> &'static Regex {
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(&format!(
            r#"\bcfg!\s*\([^)]*\btest\b|\bcfg(_attr)?\s*\(\s*((all|any)\s*\([^)]*)?not\s*\(\s*test\b|"(NEXTEST\w*|RUST_TEST_\w+)"|env::var(_os)?\(\s*"CARGO(_\w+)?"|env::(args|args_os|current_exe)\b.*"[^"]*(deps|test)[^"]*"|env::var(_os)?\(\s*{SET_BY_PIPELINES}"#
        ))
    });
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(&format!(
            r#"\b(NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST(_\w+)?|MOCHA_COLORS)\b|\bNODE_ENV\b\W*\s*[!=]==?\s*["'`]test|["'`]test["'`]\s*[!=]==?\s*process\.env|typeof\s+(jest|vi|describe|it|expect|beforeEach|afterEach)\b|\bglobal(This)?\.(jest|vi|describe|it|expect|beforeEach|__vitest\w*)\b|process\.(argv|execArgv|mainModule)\b.*(jest|mocha|vitest|--test|\.test\.)|\bprocess\.env\.(CI|GITHUB_ACTIONS|GITLAB_CI)\b|\bprocess\.env\[{SET_BY_PIPELINES}|new Error\(.*\)\.stack\b.*(test|spec)"#
        ))
    });
    static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
        pattern(&format!(
            r#"\bPYTEST_(CURRENT_TEST|VERSION|XDIST_\w+|RUN_\w+)\b|["'](_?pytest|unittest|nose)["']\s+(not\s+)?in\s+(sys\.)?modules|(sys\.)?modules(\.get\(|\[)\s*["'](_?pytest|unittest)|sys\.argv\b.*(pytest|unittest)|(inspect\.(stack|currentframe)|_getframe|(extract|format)_stack)\b.*test|environ\b\W*(get)?\W*{SET_BY_PIPELINES}|getenv\(\s*{SET_BY_PIPELINES}|{SET_BY_PIPELINES}\s+(not\s+)?in\s+(os\.)?environ"#
        ))
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(&format!(
            r#"flag\.Lookup\(\s*"test\.|\btesting\.(Testing|Short|Verbose|CoverMode)\(\)|os\.Args\b.*(\.test|-test\.)|(Getenv|LookupEnv)\(\s*{SET_BY_PIPELINES}"#
        ))
    });
    static JAVA: LazyLock<Regex> = LazyLock::new(|| {
        pattern(&format!(
            r#""[^"]*(junit|surefire|testng|gradle\.test)[^"]*"|(getStackTrace|StackWalker)\b.*[Tt]est|getenv\(\s*{SET_BY_PIPELINES}"#
        ))
    });
    match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

/// Code that asks whether it is being tested.
pub(super) fn detected(file: &FileChange, moved: &Moved, outline: Option<&Outline>) -> Vec<Finding> {
    let path = file.path();
    let Some(language) = file.new.as_deref().and_then(Language::of).filter(|_| !is_code_of_checks(path))
    else {
        return Vec::new();
    };
    let Some((_, after)) = texts(file) else { return Vec::new() };
    let source = Source::new(language, after);
    let of_tests = |line: u32| {
        outline
            .is_some_and(|outline| outline.spans.iter().any(|(first, last)| *first <= line && line <= *last))
    };
    let near = near_tests(language, &source);
    // What only lints or the standard library depend on does the same in either case.
    static LINTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^\s*#!?\[\s*cfg_attr\s*\(\s*(?:not\s*\(\s*test\s*\)|test)\s*(?:,\s*(?:(?:deny|forbid|warn)\s*\([^()]*\)|no_std|no_main)\s*)+\)\s*\]\s*$",
        )
    });
    let does_the_same = |line: &Line| language == Language::Rust && LINTS.is_match(&line.text);
    let added =
        file.added().filter(|line| moved.is_new(line) && !of_tests(line.number) && !does_the_same(line));
    let asks = added.filter(|line| {
        let start = source.line(line.number).start;
        if near.contains(&line.number) {
            return true;
        }
        signs(language)
            .find_iter(&line.text)
            .any(|found| source.class(start + found.start()) != Class::Comment)
            || language == Language::Rust && is_statement_for_tests(file, line.number)
    });
    asks.map(|line| {
        let what = "the code finds out whether it is being tested, so that a test says nothing about it: \
                    let it do the same always";
        Finding::new(TEST_DETECTED, path, Some(line.number), what).with('+', &line.text)
    })
    .collect()
}

/// How far apart a question and the word that makes it one about tests may stand.
const NEAR: u32 = 6;

/// Lines that ask who calls, how the program was started or how it was built, near a text about tests; and those that ask for a build
/// as tests have it.
fn near_tests(language: Language, source: &Source) -> BTreeSet<u32> {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\binspect\.(stack|currentframe|getouterframes)\b|\b_getframe\b|\b(extract|format|walk)_stack\b|\bsys\.(modules|argv|gettrace|settrace)\b|\bprocess\.(argv|execArgv|mainModule)\b|\brequire\.(main|cache)\b|\bError\(\s*\)\.stack\b|\bcaptureStackTrace\b|\.stack\b|\bos\.(Args|Executable)\b|\bruntime\.(Callers?|CallersFrames|Stack|FuncForPC)\b|\bdebug\.(Stack|ReadBuildInfo)\b|\bflag\.Lookup\b|\bgetStackTrace\b|\bStackWalker\b|\bClass\.forName\b|\bloadClass\b|java\.class\.path|sun\.java\.command|\bProcessHandle\b|\bManagementFactory\b|\benv::(args|args_os|current_exe|vars)\b|\bBacktrace\b|\bthread::current\(\)",
        )
    });
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"["'`/](?:[^"'`\n]*[^A-Za-z"'`\n])?(?:py|unit)?tests?(?:[^a-z]|$)|["'`][^"'`\n]*(?:Tests?\b|[jJ][uU]nit|\bjest\b|mocha|vitest|surefire|\bspec\b|nextest)"#,
        )
    });
    static BUILD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bcfg!\s*\(\s*(not\s*\(\s*)?debug_assertions\b|\bif\s+(not\s+)?__debug__\b|\bsys\.flags\.optimize\b|\bdesiredAssertionStatus\(\)",
        )
    });
    let mut found = BTreeSet::new();
    let last = source.line_of(source.text.len());
    let about: Vec<u32> = (1..=last)
        .filter(|line| {
            let start = source.line(*line).start;
            let mut all = TESTS.find_iter(source.line_text(*line));
            all.any(|found| source.class(start + found.end().saturating_sub(1)) != Class::Comment)
        })
        .collect();
    for line in 1..=last {
        let Some(bare) = source.bare.get(source.line(line)) else { continue };
        let text = source.line_text(line);
        let asks = ASKS.is_match(bare) || bare.contains("getProperty(") && ASKS.is_match(text);
        let main =
            language == Language::Rust && bare.contains("thread::current()") && text.contains("\"main\"");
        let near = || {
            let next = about.partition_point(|other| other.saturating_add(NEAR) < line);
            about.get(next).is_some_and(|other| other.abs_diff(line) <= NEAR)
        };
        if BUILD.is_match(bare) || main || asks && near() {
            found.insert(line);
        }
    }
    found
}

/// `#[cfg(test)]` before a statement. Before an item it adds something for tests, which is common.
fn is_statement_for_tests(file: &FileChange, number: u32) -> bool {
    static FOR_TESTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*#\[cfg\(\s*(all\()?\s*test\b"));
    static STATEMENT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*(return|let|if|match|while|for|loop|\{|[\w.]+(\(|\s*[-+*/]?=[^=>]))"));
    let mut shown = file.lines.iter().filter(|line| line.side != Mark::Removed && line.number >= number);
    let first = shown.next().is_some_and(|line| FOR_TESTS.is_match(&line.text));
    first
        && shown.find(|line| !line.text.trim().is_empty()).is_some_and(|line| STATEMENT.is_match(&line.text))
}

/// Whether a file is there for tests or builds: those may ask.
pub(super) fn is_code_of_checks(path: &str) -> bool {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(benches?|examples?|scripts?|tools?|ci|xtask|\.github)/|(^|/)(build\.rs|setup\.py|noxfile\.py|[\w.-]+\.(config|setup|conf)\.\w+|gulpfile\.\w+)$",
        )
    });
    is_of_tests(path) || OTHER.is_match(path)
}

/// Code that has the answers of a test by heart: a new branch for the very values that a test asks with, which gives the very
/// value that the test expects, in a function that computes its answers otherwise.
pub(super) fn by_heart(old: &HashMap<usize, Side>, new: &HashMap<usize, Side>) -> Vec<Finding> {
    let examples = examples(new);
    let mut findings = Vec::new();
    for (index, side) in new.iter().filter(|(_, side)| !is_of_tests(&side.path)) {
        let Some(before) = old.get(index) else { continue };
        for shortcut in &side.outline.shortcuts {
            // A function that had such branches before is a table, and one that is new may be one.
            let is_question = shortcut.output.is_empty();
            let of_it = |known: &Shortcut| {
                known.function == shortcut.function
                    && known.output.is_empty() == is_question
                    // A branch for zero or nothing is no entry of a table.
                    && if is_question { known.inputs == shortcut.inputs } else { is_telling(known) }
            };
            if before.outline.shortcuts.iter().any(of_it)
                || !before.outline.defines.contains(&shortcut.function)
            {
                continue;
            }
            let asks = |example: &BTreeSet<String>| shortcut.inputs.iter().all(|word| example.contains(word));
            let by_heart = match shortcut.table {
                0 if is_question => {
                    // The last day of February is a rule.
                    let calendar = shortcut.text.to_lowercase().contains("month");
                    !calendar && is_data(&shortcut.inputs) && examples.iter().any(asks)
                }
                0 => is_telling(shortcut) && examples.iter().any(|example| has(example, shortcut)),
                table => is_memory(side, &shortcut.function, table, &examples),
            };
            // A table is reported once, at its first entry.
            let again = (shortcut.table > 0 || is_question)
                && findings.iter().any(|known: &Finding| {
                    known.line == Some(shortcut.line) && known.file.as_deref() == Some(side.path.as_str())
                });
            if by_heart && !again {
                let what = if is_question {
                    format!(
                        "`{}` asks for the very input of a test ({}), and treats all others as before: make it right for every input",
                        shortcut.function,
                        shortcut.inputs.join(", ")
                    )
                } else {
                    format!(
                        "`{}` gives a fixed answer to the very input of a test ({}), and computes the others as before: make \
                     it right for every input",
                        shortcut.function,
                        shortcut.inputs.join(", ")
                    )
                };
                let finding = Finding::new(SPECIAL_CASED, &side.path, Some(shortcut.line), what);
                findings.push(finding.with('+', side.line(shortcut.line)));
            }
        }
    }
    findings
}

/// Whether a table has nothing in it but answers of tests. One that knows more than they ask is a table of the project.
fn is_memory(side: &Side, function: &str, table: u32, examples: &[BTreeSet<String>]) -> bool {
    let of_it = |entry: &&Shortcut| entry.function == function && entry.table == table;
    let mut entries = side.outline.shortcuts.iter().filter(of_it);
    let all = entries.clone().all(|entry| examples.iter().any(|example| has(example, entry)));
    all && entries.any(is_example)
}

/// Whether an entry of a table is an example and no rule. A word for a word is a rule of a language, a number for a number or
/// several values for one answer is a result.
fn is_example(entry: &Shortcut) -> bool {
    let is_number = |word: &String| word.parse::<f64>().is_ok();
    let is_plain = |word: &String| word.chars().all(|char| char.is_alphanumeric() || char == '_');
    // A text with digits in it was computed (`1h2m3s`); one without may be a name (`Not Found`).
    let is_result = |word: &String| word.chars().any(|char| char.is_ascii_digit());
    match entry.inputs.as_slice() {
        [only] if is_number(only) => is_telling(entry) && entry.output.iter().all(is_result),
        [only] => !is_plain(only),
        _ => is_telling(entry),
    }
}

/// Whether values are data of an example and no constants of a language, a protocol or a calendar. Words that begin with a letter, routes, single
/// signs, small numbers and well-known ones may be rules of the project.
fn is_data(values: &[String]) -> bool {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_$@#./-][\w./:+#-]*$"));
    const KNOWN: [&str; 22] = [
        "100", "128", "180", "200", "201", "204", "255", "256", "301", "302", "304", "360", "365", "366",
        "400", "401", "403", "404", "500", "512", "1000", "1024",
    ];
    let is_number = |word: &&String| word.parse::<f64>().is_ok();
    let telling = |word: &&String| !matches!(word.as_str(), "0" | "1" | "0.0" | "1.0" | "");
    let numbers: Vec<&String> = values.iter().filter(is_number).filter(telling).collect();
    let mut texts = values.iter().filter(|word| !is_number(word));
    let is_example =
        |text: &String| text.len() > 3 && text.chars().any(char::is_alphanumeric) && !WORD.is_match(text);
    let odd = |number: &&&String| {
        number.chars().filter(char::is_ascii_digit).count() > 2 && !KNOWN.contains(&number.as_str())
    };
    texts.any(is_example) || numbers.len() > 1 || numbers.iter().filter(odd).count() > 0
}

/// Zero, one and nothing are the edges of every function: a branch for them is common.
fn is_telling(shortcut: &Shortcut) -> bool {
    let plain = |word: &&String| matches!(word.as_str(), "0" | "1" | "0.0" | "1.0" | "");
    let telling = |words: &[String]| words.iter().filter(|word| !plain(word)).count();
    match telling(&shortcut.inputs) {
        0 => false,
        1 => telling(&shortcut.output) > 0,
        _ => telling(&shortcut.output) > 0 || shortcut.inputs.len() > 1,
    }
}

fn has(example: &BTreeSet<String>, shortcut: &Shortcut) -> bool {
    // A part of the question may be computed from what the test asks with.
    let pieces = |word: &str| -> Vec<String> {
        let parts = word.split(|char: char| !char.is_alphanumeric() && char != '.');
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    // `"100:3"`, `"[1,2,3]"`: several values in one text.
    let is_known = |word: &&String| {
        let parts = pieces(word);
        example.contains(*word) || parts.len() > 1 && parts.iter().all(|part| example.contains(part))
    };
    let known = shortcut.inputs.iter().filter(is_known).count();
    2 * known >= shortcut.inputs.len() && shortcut.output.iter().all(|word| example.contains(word))
}

/// The literals of each line and of each assertion of the tests.
fn examples(sides: &HashMap<usize, Side>) -> Vec<BTreeSet<String>> {
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for side in sides.values() {
        let whole = is_of_tests(&side.path);
        let inside =
            |line: u32| side.outline.spans.iter().any(|(first, last)| *first <= line && line <= *last);
        let lines = (1..).zip(&side.lines).filter(|(number, _)| whole || inside(*number));
        found.extend(lines.map(|(_, line)| literals(line).into_iter().collect()));
        let checks = side.outline.tests.iter().flat_map(|test| &test.checks);
        found.extend(checks.map(|check| literals(&check.text).into_iter().collect()));
    }
    found.retain(|literals: &BTreeSet<String>| literals.len() > 1);
    found
}
