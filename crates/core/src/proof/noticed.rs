//! Checks whether the tests of a change look at what the change does: its new code is broken on purpose, and one of its
//! own tests must fail.
//!
//! A test can be red without a change and green with it and still check nothing: it calls a new function and looks only
//! at the length of the result, or at a mock. The results of changed functions are broken first. If the change's own
//! tests never notice, they don't prove it.

mod apart;
mod lines;
mod offs;
mod touched;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{broken, inline};
use crate::check::source::{Class, Language, Source};
use crate::failure::Location;
use crate::pattern::pattern;
use crate::results::{Known, Merged, TestId};

use offs::Off;
use touched::Touched;

pub use apart::{Alone, Apart, apart};
pub use lines::changed;
pub(super) use lines::kept;

/// Maximum number of places to break in one file.
const MOST: usize = 200;

/// Maximum number of named lines.
const NAMED: usize = 5;

/// A non-test file of a change, before and after.
#[derive(Clone, Debug)]
pub struct Code {
    /// Path.
    pub path: String,
    /// Text before; empty if it is new.
    pub old: String,
    /// Text after.
    pub new: String,
}

/// Ways to break what a change adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Changed lines return slightly wrong values.
    Results,
    /// Changed functions return other values, changed conditions are inverted, and changed statements removed.
    Everything,
}

impl Way {
    /// All ways, the most telling first.
    pub const ALL: [Self; 2] = [Self::Results, Self::Everything];

    /// Returns the name for file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Everything => "everything",
        }
    }

    /// Returns the description.
    pub fn words(self) -> &'static str {
        match self {
            Self::Results => "what the new code returns is wrong",
            Self::Everything => {
                "what the changed functions return is wrong and their new conditions are turned around"
            }
        }
    }
}

/// The code of a change, broken in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutant {
    /// Files: path and text.
    pub files: Vec<(String, String)>,
    /// Broken locations.
    pub places: Vec<Location>,
    /// Whether every function that the change touches is broken, and everything that it changes elsewhere. If not,
    /// tests may look at the part that works.
    pub is_whole: bool,
}

pub(super) type Edit = (Range<usize>, String);

/// Breaks the code of a change in one way, where the change touched it. Returns `None` if there is nothing to break.
pub fn mutant(code: &[Code], way: Way) -> Option<Mutant> {
    let mut mutant = Mutant { is_whole: true, ..Mutant::default() };
    for file in code {
        let Some(language) = Language::of(&file.path) else {
            // Data, templates and scripts: their effect is unknown.
            mutant.is_whole = false;
            continue;
        };
        let changed = changed(&file.old, &file.new);
        let source = Source::new(language, file.new.clone());
        let touched = Touched::of(language, &source, &changed);
        let edits = edits(language, &file.path, &source, (&changed, &touched), way);
        // Removed lines cannot be broken.
        mutant.is_whole &= edits.len() <= MOST && !changed.is_empty() && touched.are_broken(&source, &edits);
        if edits.is_empty() || edits.len() > MOST {
            continue;
        }
        let mut lines: Vec<u32> = edits.iter().map(|(at, _)| source.line_of(at.start)).collect();
        lines.dedup();
        let places = lines.into_iter().take(NAMED).map(|line| Location { path: file.path.clone(), line });
        mutant.places.extend(places);
        mutant.files.push((file.path.clone(), applied(&file.new, edits)));
    }
    (!mutant.files.is_empty()).then_some(mutant)
}

/// Applies edits to a text.
pub(super) fn applied(text: &str, edits: Vec<Edit>) -> String {
    let mut out = text.to_owned();
    for (at, new) in edits.into_iter().rev() {
        out.replace_range(at, &new);
    }
    out
}

/// Returns edits that break these lines in one way, in order. Leaves tests in the file alone.
fn edits(
    language: Language,
    path: &str,
    source: &Source,
    (changed, touched): (&BTreeSet<u32>, &Touched),
    way: Way,
) -> Vec<Edit> {
    let edits = match way {
        Way::Results => offs::results(language, path, source, changed, Off::Little),
        Way::Everything => {
            let mut edits = offs::results(language, path, source, &touched.lines(source), Off::Whole);
            edits.extend(conditions(language, source, changed));
            edits.extend(offs::fields(language, path, source, changed));
            // Go does not compile unused variables.
            if language != Language::Go {
                edits.extend(statements(language, source, changed));
            }
            edits.extend(touched.values(language, source));
            edits
        }
    };
    in_order(language, source, edits)
}

/// Returns edits that break one line: its result or its condition.
pub(super) fn of_line(language: Language, path: &str, source: &Source, line: u32) -> [Vec<Edit>; 2] {
    let one: BTreeSet<u32> = [line].into();
    [
        in_order(language, source, offs::results(language, path, source, &one, Off::Little)),
        in_order(language, source, conditions(language, source, &one)),
    ]
}

fn in_order(language: Language, source: &Source, mut edits: Vec<Edit>) -> Vec<Edit> {
    let tests = if language == Language::Rust { inline::test_items(&source.text) } else { Vec::new() };
    edits.retain(|(at, _)| {
        !tests.iter().any(|test| test.start < at.end.max(at.start + 1) && at.start < test.end)
    });
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    // Of nested edits, keep the outer one.
    let mut end = 0;
    edits.retain(|(at, _)| {
        let stays = at.start >= end;
        if stays {
            end = at.end;
        }
        stays
    });
    edits
}

/// Returns whether one of the tests fails, or no longer exists, on broken code.
pub fn is_noticed(tests: &BTreeSet<TestId>, broken: &Merged) -> bool {
    tests.iter().any(|id| broken.of(id) != Known::Passed)
}

/// Inverts conditions.
fn conditions(language: Language, source: &Source, changed: &BTreeSet<u32>) -> Vec<Edit> {
    static IF: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:el)?if\b[ \t]*"));
    static DETECTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^if\s+__name__\b"));
    let bytes = source.bare.as_bytes();
    let mut edits = Vec::new();
    for found in IF.find_iter(&source.bare) {
        let line = source.line_of(found.start());
        let head = source.bare.get(source.line(line)).unwrap_or_default().trim_start();
        // After something else, it is part of an expression.
        let begins =
            ["if", "elif", "} else if", "else if", "}else if"].iter().any(|word| head.starts_with(word));
        if !changed.contains(&line) || !begins || DETECTS.is_match(head) {
            continue;
        }
        let start = found.end();
        let range = match language {
            Language::Script | Language::Java => {
                if bytes.get(start) != Some(&b'(') {
                    continue;
                }
                let whole = source.balanced(start);
                whole.start + 1..whole.end.saturating_sub(1)
            }
            Language::Python => {
                let Some(end) = head_end(source, start, b':') else { continue };
                start..end
            }
            Language::Rust | Language::Go => {
                let Some(end) = head_end(source, start, b'{') else { continue };
                // `if x := f(); x > 1 {`: only the last part is the condition.
                let text = source.bare.get(start..end).unwrap_or_default();
                let start = text.rfind(';').map_or(start, |at| start + at + 1);
                start..end
            }
        };
        let Some(text) = source.text.get(range.clone()) else { continue };
        let text = text.trim();
        if text.is_empty()
            || text.contains('\n')
            || text.starts_with("let ")
            || text.contains(" let ")
            || text.contains(":=")
        {
            continue;
        }
        let new = match language {
            Language::Python => format!("not ({text})"),
            Language::Go | Language::Rust => format!(" !({text}) "),
            Language::Script | Language::Java => format!("!({text})"),
        };
        edits.push((range, new));
    }
    edits
}

/// Returns the end of a condition's head, on the same line.
fn head_end(source: &Source, start: usize, end: u8) -> Option<usize> {
    let bytes = source.bare.as_bytes();
    let mut at = start;
    loop {
        match bytes.get(at)? {
            byte if *byte == end => return Some(at),
            b'(' | b'[' | b'{' => at = source.balanced(at).end,
            b'\n' => return None,
            _ => at += 1,
        }
    }
}

/// Removes one-line statements with an effect: calls whose result is unused, and sums.
fn statements(language: Language, source: &Source, changed: &BTreeSet<u32>) -> Vec<Edit> {
    static CALL: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?:await\s+|self\.|this\.)*[\w.:]+\(.*\)\??;?$"));
    static SUM: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\w.\[\]()]+\s*(?:[-+*/|&]=|\+\+|--)"));
    static KEYWORD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:return|if|elif|else|for|while|match|switch|super|print|raise|throw|panic|assert|def|fn|func|function|class|defer|go|yield|with|try|catch|except|case|new|\w+_?log\w*|log\w*|console|println|debug|warn|info)\b",
        )
    });
    let mut edits = Vec::new();
    for line in changed {
        let range = source.line(*line);
        let text = source.bare.get(range.clone()).unwrap_or_default();
        let bare = text.trim();
        let opens = bare.bytes().filter(|byte| b"([{".contains(byte)).count();
        let closes = bare.bytes().filter(|byte| b")]}".contains(byte)).count();
        let ends = match language {
            Language::Rust | Language::Java => bare.ends_with(';'),
            Language::Script | Language::Python | Language::Go => !bare.ends_with([',', '\\', '{', ':']),
        };
        let starts_block = text.starts_with([' ', '\t']);
        if !(CALL.is_match(bare) || SUM.is_match(bare))
            || KEYWORD.is_match(bare)
            || opens != closes
            || !ends
            || !starts_block
        {
            continue;
        }
        // A statement that continues on neighbouring lines is part of another one.
        let before = previous(source, *line);
        if before.ends_with(['(', ',', '[', '=', '+', '.', '|', '&']) || bare.starts_with('.') {
            continue;
        }
        let start = range.start + (text.len() - text.trim_start().len());
        let end = range.start + text.trim_end().len();
        let new = if language == Language::Python { "pass" } else { "" };
        if source.class(start) == Class::Code {
            edits.push((start..end, new.to_owned()));
        }
    }
    edits
}

/// Returns the line before, without trailing blanks.
fn previous(source: &Source, line: u32) -> String {
    let mut number = line;
    while number > 1 {
        number -= 1;
        let text = source.bare.get(source.line(number)).unwrap_or_default().trim_end();
        if !text.trim().is_empty() {
            return text.to_owned();
        }
    }
    String::new()
}

/// Returns the end of a returned expression.
pub(super) fn expression_end(language: Language, source: &Source, start: usize) -> Option<usize> {
    broken::expression_end(language, source, start)
}

#[cfg(test)]
mod tests;
