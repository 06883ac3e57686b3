//! Finds number and text literals in a file, and replacements for them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::check::source::{Class, Source};
use crate::pattern::pattern;

/// Longer texts are prose or documents.
const LONGEST: usize = 60;

/// Maximum number of literals to read from one file.
const MOST: usize = 5_000;

/// A literal with its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// As written, without quotes.
    pub(super) raw: String,
    pub(super) value: Value,
    pub(super) at: Range<usize>,
    pub(super) line: u32,
    /// Whether something may be compared with it or looked up by it.
    pub(super) is_asked: bool,
    /// Whether it is one of two bounds with a single value in between.
    pub(super) is_bound: bool,
    /// Whether something is compared with it as a limit: `total > 100`.
    pub(super) is_limit: bool,
}

/// The value of a literal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
}

/// Returns the literals in a range of a source file, in order.
pub(super) fn literals(source: &Source, range: Range<usize>) -> Vec<Found> {
    let mut found = numbers(source, &range);
    found.extend(texts(source, &range));
    found.sort_by_key(|found| found.at.start);
    found.truncate(MOST);
    found
}

/// Returns the literals of a data file: JSON, CSV, YAML.
pub(super) fn plain(text: &str) -> Vec<Found> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r#""([^"\n]+)"|([^\s",;:\[\]{}]+)"#));
    let found = WORD.captures_iter(text).filter_map(|found| {
        let word = found.get(1).or_else(|| found.get(2))?;
        let raw = word.as_str().to_owned();
        let value = raw.parse().map_or_else(|_| Value::Text(raw.clone()), Value::Number);
        let line = line_of(text, word.start());
        let found =
            Found { raw, value, at: word.range(), line, is_asked: true, is_bound: false, is_limit: false };
        is_telling(&found).then_some(found)
    });
    found.take(MOST).collect()
}

fn line_of(text: &str, at: usize) -> u32 {
    let line = text.get(..at).unwrap_or_default().matches('\n').count();
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// Returns whether a literal is significant. Zero, one, two and single letters are in all code.
fn is_telling(found: &Found) -> bool {
    match &found.value {
        Value::Number(number) => *number > 2.0,
        Value::Text(text) => {
            text.len() > 1 && text.len() <= LONGEST && text.chars().any(char::is_alphanumeric)
        }
    }
}

fn numbers(source: &Source, range: &Range<usize>) -> Vec<Found> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:^|[^\w.])((?:0|[1-9][\d_]*)(?:\.\d+)?)(?:[^\w.]|[uifLlFdD]|\.\D|$)"));
    let mut all = Vec::new();
    let mut at = range.start;
    while let Some(found) = NUMBER.captures_at(&source.bare, at).and_then(|found| found.get(1)) {
        if found.start() >= range.end || all.len() >= MOST {
            break;
        }
        at = found.end();
        let Ok(number) = found.as_str().replace('_', "").parse::<f64>() else { continue };
        let line = source.line_of(found.start());
        let one = Found {
            raw: found.as_str().to_owned(),
            value: Value::Number(number),
            at: found.range(),
            line,
            is_asked: is_asked(source, found.range()),
            is_bound: is_bound(source, line, number),
            is_limit: is_limit(source, found.range()),
        };
        if is_telling(&one) {
            all.push(one);
        }
    }
    all
}

/// Returns whether a number is compared with something, or is a case of a switch or a key of a table.
fn is_asked(source: &Source, at: Range<usize>) -> bool {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"[=!]=|\bcase\b|\bin\s*[\[({]|\.(equals|includes|contains|has|get|eq)\s*\(|\bis\b|\bmatches!|Map\.of|\bentry\(|DeepEqual|\bEqual\(",
        )
    });
    static KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\s,\w.&)\]]*(=>|:[^:=])"));
    let line = source.line(source.line_of(at.start));
    let whole = source.bare.get(line.clone()).unwrap_or_default();
    let behind = source.bare.get(at.end..line.end).unwrap_or_default();
    ASKS.is_match(whole) || KEY.is_match(behind)
}

/// Returns whether a number is one of two bounds in a line with a single number in between.
fn is_bound(source: &Source, line: u32, number: f64) -> bool {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d[\d_]*(?:\.\d+)?)"));
    let text = source.bare.get(source.line(line)).unwrap_or_default();
    let near = |other: &str| {
        other.replace('_', "").parse::<f64>().is_ok_and(|other| (0.5..=2.0).contains(&(other - number).abs()))
    };
    text.matches(['<', '>']).count() > 1 && OTHER.find_iter(text).any(|found| near(found.as_str()))
}

/// Returns whether a number is next to `<` or `>`.
fn is_limit(source: &Source, at: Range<usize>) -> bool {
    let line = source.line(source.line_of(at.start));
    let before = source.bare.get(line.start..at.start).unwrap_or_default().trim_end().trim_end_matches('=');
    let behind = source.bare.get(at.end..line.end).unwrap_or_default().trim_start();
    before.ends_with(['<', '>']) || behind.starts_with(['<', '>'])
}

fn texts(source: &Source, range: &Range<usize>) -> Vec<Found> {
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(raise|throw|throws|panic!?|errorf|\w*error|\w*exception|format!?|println!?|print\w*|log\w*|import|from|require|use|expect)\b\s*[({\x22']?",
        )
    });
    let mut all = Vec::new();
    let mut at = range.start;
    while at < range.end && all.len() < MOST {
        if source.class(at) != Class::Text {
            at += 1;
            continue;
        }
        let start = at;
        while at < range.end && source.class(at) == Class::Text {
            at += 1;
        }
        let Some(raw) = source.text.get(start..at) else { continue };
        if raw.contains(['\n', '{', '%', '$']) {
            continue;
        }
        let line = source.line_of(start);
        let before = source.bare.get(source.line(line).start..start).unwrap_or_default();
        let one = Found {
            raw: raw.to_owned(),
            value: Value::Text(raw.to_owned()),
            at: start..at,
            line,
            is_asked: !SAYS.is_match(before),
            is_bound: false,
            is_limit: false,
        };
        if is_telling(&one) {
            all.push(one);
        }
    }
    all
}

/// HTTP status codes, lengths of months, days and hours, and powers of two.
const KNOWN: [u32; 33] = [
    12, 16, 24, 28, 29, 30, 31, 32, 60, 64, 127, 128, 200, 201, 204, 255, 256, 301, 302, 304, 365, 366, 400,
    401, 403, 404, 409, 422, 429, 500, 502, 503, 1024,
];

impl Found {
    /// Returns whether the value may be a requested rule: the task names it, not as an example, or it is common
    /// knowledge.
    pub(super) fn is_rule(&self, task: &str) -> bool {
        match &self.value {
            Value::Number(_) => {
                super::has_word(task, &self.raw) && !is_example(task, &self.raw) || self.is_known()
            }
            Value::Text(text) => {
                let path = text.contains('/') && !text.contains(' ');
                let word =
                    |c: char| c.is_alphabetic() || matches!(c, '_' | '-') || path && !c.is_whitespace();
                task.to_lowercase().contains(&text.to_lowercase())
                    && text.chars().all(word)
                    && !is_example(task, text)
            }
        }
    }

    fn is_known(&self) -> bool {
        matches!(self.value, Value::Number(number) if KNOWN.iter().any(|known| (f64::from(*known) - number).abs() < 0.5))
    }

    /// Returns whether the value can be a hard-coded answer: not a small number, and not a single word.
    pub(super) fn is_answer(&self) -> bool {
        match &self.value {
            Value::Number(number) => *number >= 100.0 && !self.is_known() && !self.is_limit,
            Value::Text(text) => self.is_asked && text.len() > 3 && !text.chars().all(char::is_alphabetic),
        }
    }
}

/// Returns whether a task names a value only as an example: as an argument of a call, after "for example", or next to
/// an arrow.
fn is_example(task: &str, value: &str) -> bool {
    static EXAMPLE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\w+\([^()\n]*\)|(?i:\b(?:for example|for instance|e\.g\.|such as|like|example:))[^\n]*?(?:[.;](?:\s|$)|\n|$)|`[^`\n]*`\s*(?:->|=>|→|⇒)\s*`[^`\n]*`|[^\s`]+\s*(?:->|=>|→|⇒)\s*[^\s`]+",
        )
    });
    let named = |text: &str| text.to_lowercase().matches(&value.to_lowercase()).count();
    let inside: usize = EXAMPLE.find_iter(task).map(|found| named(found.as_str())).sum();
    inside > 0 && inside == named(task)
}

/// Returns other values of the same form.
pub(super) fn variants(found: &Found) -> Vec<String> {
    match &found.value {
        Value::Number(number) => of_number(&found.raw, *number),
        Value::Text(text) => of_text(text),
    }
}

/// Returns near values and a distant one. None needs a larger type than the number itself.
fn of_number(raw: &str, number: f64) -> Vec<String> {
    if let Some((whole, part)) = raw.split_once('.') {
        let last = bumped(part.chars().last().unwrap_or('0'));
        let near = format!("{whole}.{}{last}", &part[..part.len().saturating_sub(1)]);
        return vec![
            near,
            format!("{}.{part}", number.trunc() + 1.0),
            format!("{}.{part}", number.trunc() + 3.0),
        ];
    }
    // Integers up to 2^53 are exact.
    let mut all = vec![number - 1.0, (number / 2.0).floor() + 1.0];
    if number < 60.0 {
        all.extend([number + 1.0, number * 2.0]);
    } else if ![127.0, 255.0, 32_767.0, 65_535.0, 2_147_483_647.0, 4_294_967_295.0].contains(&number) {
        all.push(number + 1.0);
    }
    all.retain(|other| (other - number).abs() > 0.5);
    all.dedup();
    all.into_iter().map(|number| format!("{number}")).collect()
}

/// Changes one character: the last, the first, and an additional one.
fn of_text(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    let places: Vec<usize> = (0..signs.len())
        .filter(|at| signs[*at].is_ascii_alphanumeric() && (*at == 0 || signs[*at - 1] != '\\'))
        .collect();
    let with = |at: usize| -> String {
        signs
            .iter()
            .enumerate()
            .map(|(index, sign)| if index == at { bumped(*sign) } else { *sign })
            .collect()
    };
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Vec::new() };
    let mut longer = signs.clone();
    longer.insert(*last, signs[*last]);
    let mut all = vec![with(*last), with(*first), longer.into_iter().collect()];
    all.dedup();
    all
}

fn bumped(sign: char) -> char {
    match sign {
        '9' => '8',
        'z' => 'y',
        'Z' => 'Y',
        _ => char::from_u32(u32::from(sign) + 1).unwrap_or(sign),
    }
}
