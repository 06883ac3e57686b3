//! Breaks each function that a change touches alone, because a test of one function does not make up for another.
//!
//! Two things are required. A function that returns a boolean must have both results tested: if it always returns true
//! and no test notices, no test has shown it to be false. And some test must look at each function that the task names.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::offs::{self, Off};
use super::{Code, applied, changed, expression_end, in_order};
use crate::check::functions::{Function, functions};
use crate::check::source::{Language, Source};
use crate::pattern::pattern;
use crate::proof::inline;

/// Maximum number of functions to break.
const MOST: usize = 12;

/// How a function is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// Always returns this value.
    Always(bool),
    /// Equal values have different hashes.
    OwnHash,
    /// Returns slightly wrong values.
    Wrong,
}

impl Alone {
    /// Returns the description.
    pub fn words(self) -> &'static str {
        match self {
            Self::Always(true) => "is always true",
            Self::Always(false) => "is always false",
            Self::OwnHash => "gives equal values different hashes",
            Self::Wrong => "gives a wrong result",
        }
    }
}

/// A function of a change, broken alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// File.
    pub path: String,
    /// Line of its name.
    pub line: u32,
    /// Name.
    pub function: String,
    /// How it is broken.
    pub alone: Alone,
    /// Text of the file with the broken function.
    pub text: String,
    /// Whether the task names it.
    pub is_named: bool,
}

/// Returns the functions that a change touches and that must be tested, broken one at a time. Functions that the task
/// names come first.
pub fn apart(code: &[Code], task: &str) -> Vec<Apart> {
    let mut found: Vec<Apart> = code.iter().flat_map(|file| of_file(file, task)).collect();
    found.retain(|it| it.is_named || matches!(it.alone, Alone::Always(_)));
    found.sort_by_key(|it| !it.is_named);
    found.truncate(MOST);
    found
}

fn of_file(code: &Code, task: &str) -> Vec<Apart> {
    let Some(language) = Language::of(&code.path) else { return Vec::new() };
    let source = Source::new(language, code.new.clone());
    let changed = changed(&code.old, &code.new);
    let mut found = Vec::new();
    for function in touched(language, &source, &changed) {
        let (first, last) =
            (source.line_of(function.at), source.line_of(function.body.end.saturating_sub(1)));
        let lines: BTreeSet<u32> = (first..=last).collect();
        let is_named = is_named(task, &function.name);
        let is_hash = ["hashCode", "__hash__"].contains(&function.name.as_str());
        let ways = if is_hash {
            vec![Alone::OwnHash]
        } else if is_boolean(language, &source, &function.body) {
            // Skip the value that the function always returns: replacing it would change nothing.
            let constant = constant(language, &source, &function.body);
            [true, false].into_iter().filter(|is| constant != Some(*is)).map(Alone::Always).collect()
        } else {
            vec![Alone::Wrong]
        };
        for alone in ways {
            let off = match alone {
                Alone::Always(is) => Off::Always(is),
                Alone::OwnHash => Off::OwnHash,
                Alone::Wrong => Off::Little,
            };
            let mut edits = offs::results(language, &code.path, &source, &lines, off);
            edits.retain(|(at, _)| function.body.start <= at.start && at.end <= function.body.end);
            let edits = in_order(language, &source, edits);
            if !edits.is_empty() {
                found.push(Apart {
                    path: code.path.clone(),
                    line: first,
                    function: function.name.clone(),
                    alone,
                    text: applied(&code.new, edits),
                    is_named,
                });
            }
        }
    }
    found
}

/// Returns the innermost functions with changed lines, outside of tests.
fn touched(language: Language, source: &Source, changed: &BTreeSet<u32>) -> Vec<Function> {
    let tests = if language == Language::Rust { inline::test_items(&source.text) } else { Vec::new() };
    let mut all = functions(language, source);
    all.retain(|it| !tests.iter().any(|test| test.contains(&it.at)));
    let lines = |it: &Function| source.line_of(it.at)..=source.line_of(it.body.end.saturating_sub(1));
    let mut taken = BTreeSet::new();
    for line in changed {
        let within = all.iter().enumerate().filter(|(_, it)| lines(it).contains(line));
        taken.extend(within.min_by_key(|(_, it)| it.body.len()).map(|(index, _)| index));
    }
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        taken.contains(&(index - 1))
    });
    all
}

/// Returns whether a task names a function, and not just a word that is also its name.
fn is_named(task: &str, name: &str) -> bool {
    let is_code = name.contains('_') || name.chars().skip(1).any(char::is_uppercase);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    name.len() > 2
        && task.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&task[..at], &task[at + name.len()..]);
            let whole = !before.ends_with(is_part) && !behind.starts_with(is_part);
            let marked = behind.starts_with(['(', '`'])
                || before.ends_with(['`', '.', ':']) && !behind.starts_with('.');
            whole && (is_code || marked && !before.is_empty() || behind.starts_with('('))
        })
}

/// Returns whether a function returns a boolean. If its type does not show it, the returned expression must look like
/// one.
fn is_boolean(language: Language, source: &Source, body: &Range<usize>) -> bool {
    static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\breturn[ \t]+"));
    static TYPE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:->\s*bool|\bbool|\bboolean)\s*$|\bboolean\s+\w+\s*\("));
    if !matches!(language, Language::Python | Language::Script) {
        let head_start = source.line(source.line_of(body.start)).start;
        let head = source.bare.get(head_start..body.start).unwrap_or_default();
        return TYPE.is_match(head);
    }
    let text = source.bare.get(body.clone()).unwrap_or_default();
    let returned: Vec<&str> = RETURN
        .find_iter(text)
        .filter_map(|found| {
            let start = body.start + found.end();
            let end = expression_end(language, source, start)?;
            source.bare.get(start..end)
        })
        .collect();
    !returned.is_empty()
        && returned.iter().all(|text| is_condition(text))
        && returned.iter().any(|text| !is_constant(text))
        || returned.iter().any(|text| text.trim() == "True" || text.trim() == "true")
            && returned.iter().any(|text| text.trim() == "False" || text.trim() == "false")
}

/// Returns the value of a function that always returns the same one.
fn constant(language: Language, source: &Source, body: &Range<usize>) -> Option<bool> {
    static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\breturn[ \t]+([^;\n}]+)"));
    let text = source.bare.get(body.clone()).unwrap_or_default();
    let mut returned: Vec<&str> =
        RETURN.captures_iter(text).filter_map(|it| it.get(1)).map(|it| it.as_str().trim()).collect();
    if language == Language::Rust {
        // The value of the block is the expression after its last statement.
        let block = text.trim().trim_start_matches('{');
        let block = block.strip_suffix('}').unwrap_or(block);
        returned.push(block.rsplit([';', '}']).next().unwrap_or_default().trim());
    }
    let all = |words: [&str; 2]| !returned.is_empty() && returned.iter().all(|it| words.contains(it));
    if all(["true", "True"]) {
        return Some(true);
    }
    all(["false", "False"]).then_some(false)
}

fn is_constant(text: &str) -> bool {
    ["NotImplemented", "None", "null", "undefined"].contains(&text.trim())
}

/// Returns whether an expression looks like a boolean.
fn is_condition(text: &str) -> bool {
    static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:True|False|true|false|NotImplemented)$|^(?:not\b|!)|[=!<>]=|\s[<>]\s|\b(?:in|is|instanceof)\b|\b(?:isinstance|any|all|isNaN|bool|Boolean)\(\)|\.(?:test|has|includes|startsWith|endsWith|startswith|endswith|some|every|isdigit|isdecimal|is_\w+|has_\w+|equals)\(\)$",
        )
    });
    static CHOOSES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\?|\bif\b|\bfor\b|=>|\blambda\b"));
    // The content of brackets says nothing about the whole.
    let (mut bare, mut depth) = (String::new(), 0_usize);
    for c in text.trim().chars() {
        match c {
            '(' | '[' | '{' => {
                if depth == 0 {
                    bare.push(c);
                }
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    bare.push(c);
                }
            }
            _ if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    COMPARES.is_match(&bare) && !CHOOSES.is_match(&bare)
}
