//! Tries tests with neighbouring input values, to check that a change is right for more than the exact values of its
//! tests.
//!
//! Code that compares its input with a test's value passes that test and is otherwise wrong. Such a condition has many
//! forms, so reading the code is not enough: if new code checks for a value that a test uses, copies of the test with
//! other values run without and with the change. If the change makes no difference to any copy, the code is made for
//! that one value.

mod literal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use self::literal::{Found, Value, literals, variants};
use super::account::is_called;
use crate::check::cases::{Case, cases};
use crate::check::source::{Language, Source};
use crate::pattern::pattern;
use crate::results::{Case as Ended, Known, Merged, Outcome, TestId};

/// Maximum number of values to try per change.
const MOST_VALUES: usize = 8;

/// Maximum number of test copies per change.
const MOST_COPIES: usize = 60;

/// Minimum number of other values to try before drawing a conclusion.
const FEWEST: usize = 2;

/// The same, if the code returns the value.
const FEWEST_GIVEN: usize = 3;

/// Maximum number of a test's inputs to try for one value that the code returns.
const MOST_QUESTIONS: usize = 5;

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

/// Test files with copies of some tests.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Files with copies: path and text.
    pub files: Vec<(String, String)>,
    asked: Vec<Asked>,
}

/// A value of a test that new code checks for.
#[derive(Clone, Debug)]
struct Asked {
    value: String,
    path: String,
    line: u32,
    /// Number of the unchanged copy.
    control: usize,
    /// Numbers of the other copies, each with its replacement value.
    copies: Vec<(usize, String)>,
    /// Whether the code returns the value; then the copies replace the test's inputs.
    is_given: bool,
}

/// A value of a test that code is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Special {
    /// Value.
    pub value: String,
    /// Code file that checks for it.
    pub path: String,
    /// Line in it.
    pub line: u32,
    /// Values for which the change makes no difference.
    pub tried: Vec<String>,
    /// Whether the code returns the value instead of checking for it.
    pub is_given: bool,
}

/// Plans copies of the tests that `turned` with the change, for each value that its code checks for. Returns `None` if
/// there is nothing to try.
pub fn plan(code: &[Code], tests: &[(String, String)], turned: &[String], task: &str) -> Option<Plan> {
    let new: Vec<(String, Found)> = code.iter().flat_map(new_values).collect();
    let asks: Vec<(String, Found)> = new.iter().filter(|(_, found)| found.is_asked).cloned().collect();
    let gives: Vec<(String, Found)> = new.into_iter().filter(|(_, found)| found.is_answer()).collect();
    if asks.is_empty() && gives.is_empty() {
        return None;
    }
    let lines = new_lines(code);
    let mut plan = Plan::default();
    let mut number = 0;
    for (path, text) in tests {
        let Some(language) = Language::of(path) else { continue };
        let source = Source::new(language, text.clone());
        let mut copies: Vec<(usize, String)> = Vec::new();
        for case in of_change(language, &source, turned) {
            let mut copier = Copier {
                source: &source,
                case: &case,
                control: None,
                number: &mut number,
                copies: &mut copies,
            };
            let known = copier.asked(&asks, task, &mut plan);
            if !known {
                copier.given((&gives, &lines), &mut plan);
            }
        }
        if !copies.is_empty() {
            let mut out = text.clone();
            for (at, copy) in copies.iter().rev() {
                out.insert_str(*at, copy);
            }
            plan.files.push((path.clone(), out));
        }
    }
    (!plan.asked.is_empty()).then_some(plan)
}

/// Returns the tests of a file that turned with the change and can be copied unchanged.
fn of_change(language: Language, source: &Source, turned: &[String]) -> Vec<Case> {
    let all = cases(language, source);
    let is_inside = |case: &Case| {
        all.iter().any(|other| other.whole.start < case.whole.start && case.whole.end <= other.whole.end)
    };
    let stores = |case: &Case| {
        // Snapshots are stored under the name of their test, so a copy has none.
        source.text.get(case.whole.clone()).is_none_or(|text| text.to_lowercase().contains("snapshot"))
    };
    let is_turned = |case: &Case| turned.iter().any(|called| is_called(called, &case.name));
    let fits = |case: &Case| is_turned(case) && !is_inside(case) && !stores(case);
    all.iter().filter(|case| fits(case)).cloned().collect()
}

/// Makes copies of a test.
struct Copier<'a> {
    source: &'a Source,
    case: &'a Case,
    /// Number of the unchanged copy, once there is one.
    control: Option<usize>,
    number: &'a mut usize,
    copies: &'a mut Vec<(usize, String)>,
}

impl Copier<'_> {
    /// Adds a copy, unless there are too many.
    fn write(&mut self, used: &[Found], edits: &dyn Fn(&Found) -> Option<String>) -> Option<usize> {
        if *self.number >= MOST_COPIES {
            return None;
        }
        let text = rewritten(self.source, self.case, used, edits, *self.number)?;
        self.copies.push((self.case.whole.end, text));
        *self.number += 1;
        Some(*self.number - 1)
    }

    fn control(&mut self, used: &[Found]) -> Option<usize> {
        if self.control.is_none() {
            self.control = self.write(used, &|_| None);
        }
        self.control
    }

    /// Adds one copy for each replacement of a value. Texts that the code knows `as_well` are replaced in the same way,
    /// because a test with two such texts would still turn by the second.
    fn others(&mut self, used: &[Found], value: &Other, as_well: &[Other]) -> Vec<(usize, String)> {
        let others = value.variants.iter().enumerate();
        let made = others.filter_map(|(index, other)| {
            let replace = |found: &Found| {
                if found.raw == value.raw {
                    return Some(other.clone());
                }
                let known = as_well.iter().find(|known| known.raw == found.raw)?;
                known.variants.get(index).cloned()
            };
            Some((self.write(used, &replace)?, other.clone()))
        });
        made.collect()
    }

    /// Adds copies for each value of the test that the code checks for. Returns whether there is one.
    fn asked(&mut self, asks: &[(String, Found)], task: &str, plan: &mut Plan) -> bool {
        let used = literals(self.source, self.case.whole.clone());
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut known = false;
        let as_well = |value: &Found| {
            let text = matches!(value.value, Value::Text(_)) && value.raw != self.case.name;
            let is_known = |ask: &Found| ask.value == value.value || is_part(ask, value, asks, &used);
            let (_, ask) =
                asks.iter().find(|(_, ask)| is_known(ask) && !ask.is_rule(task)).filter(|_| text)?;
            Some(Other::of(value, Some(ask).filter(|ask| is_part(ask, value, asks, &used))))
        };
        let as_well: Vec<Other> = used.iter().filter_map(as_well).collect();
        for value in &used {
            let Some((path, ask)) = asks.iter().find(|(_, ask)| ask.is_about(value)) else { continue };
            if value.raw == self.case.name {
                continue;
            }
            known |= !is_small(value);
            if ask.is_rule(task) || !seen.insert(value.raw.clone()) || plan.asked.len() >= MOST_VALUES {
                continue;
            }
            let Some(control) = self.control(&used) else { return true };
            let other = Other::of(value, Some(ask).filter(|ask| is_part(ask, value, asks, &used)));
            let copies = self.others(&used, &other, &as_well);
            let (value, path) = (value.raw.clone(), path.clone());
            plan.asked.push(Asked { value, path, line: ask.line, control, copies, is_given: false });
        }
        known
    }

    /// Adds copies with other inputs for a value that the code returns, because it may be hard-coded. A table that also
    /// contains the input, in any form, is data of the project.
    fn given(&mut self, (gives, lines): (&[(String, Found)], &str), plan: &mut Plan) {
        let mut used = literals(self.source, self.case.whole.clone());
        used.retain(|value| value.raw != self.case.name);
        let is_given = |value: &Found| gives.iter().find(|(_, given)| given.value == value.value);
        let Some((value, (path, given))) = used.iter().find_map(|value| Some((value, is_given(value)?)))
        else {
            return;
        };
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let questions: Vec<&Found> = used
            .iter()
            .filter(|value| is_given(value).is_none() && seen.insert(value.raw.as_str()))
            .take(MOST_QUESTIONS)
            .collect();
        let is_keyed = questions.iter().any(|question| has_word(lines, &question.raw));
        if questions.is_empty() || is_keyed || plan.asked.len() >= MOST_VALUES {
            return;
        }
        let Some(control) = self.control(&used) else { return };
        let copies = questions
            .into_iter()
            .flat_map(|question| self.others(&used, &Other::of(question, None), &[]))
            .collect();
        let (value, path) = (value.raw.clone(), path.clone());
        plan.asked.push(Asked { value, path, line: given.line, control, copies, is_given: true });
    }
}

/// Replacements for a value of a test.
struct Other {
    raw: String,
    variants: Vec<String>,
}

impl Other {
    /// Returns replacements for a value, or for the part of it that code checks for.
    fn of(value: &Found, part: Option<&Found>) -> Self {
        let variants = match part {
            Some(part) => {
                let others = variants(part).into_iter();
                others.map(|other| value.raw.replacen(&part.raw, &other, 1)).collect()
            }
            None => variants(value),
        };
        Self { raw: value.raw.clone(), variants }
    }
}

/// Returns whether code checks for a part of a text and knows only what the test has: `{"bücher": …}` for
/// `ann@bücher.example`. A table with further entries is data of the project.
fn is_part(ask: &Found, value: &Found, asks: &[(String, Found)], used: &[Found]) -> bool {
    let (Value::Text(part), Value::Text(whole)) = (&ask.value, &value.value) else { return false };
    let is_known = |text: &str| used.iter().any(|it| it.raw.to_lowercase().contains(&text.to_lowercase()));
    let mut lines: Vec<(u32, &str)> = asks.iter().map(|(_, it)| (it.line, it.raw.as_str())).collect();
    lines.sort_unstable();
    let near = |at: u32, line: u32| at.abs_diff(line) <= 1;
    let mut block: BTreeSet<u32> = BTreeSet::from([ask.line]);
    // Forwards, then backwards: consecutive lines.
    for (line, _) in lines.iter().chain(lines.iter().rev()) {
        if block.iter().any(|at| near(*at, *line)) {
            block.insert(*line);
        }
    }
    part != whole
        && part.len() > 3
        && whole.contains(part.as_str())
        && lines.iter().filter(|(line, _)| block.contains(line)).all(|(_, text)| is_known(text))
}

/// Returns the lines of code that only the change has.
fn new_lines(code: &[Code]) -> String {
    let mut lines = String::new();
    for file in code {
        let known: BTreeSet<&str> = file.old.lines().map(str::trim).collect();
        for line in file.new.lines().filter(|line| !known.contains(line.trim())) {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

/// Returns whether a value is a small number, which code checks for in many ways.
fn is_small(found: &Found) -> bool {
    matches!(found.value, Value::Number(number) if number < 10.0)
}

/// Returns a test with another name and some replaced values.
fn rewritten(
    source: &Source,
    case: &Case,
    used: &[Found],
    edits: &dyn Fn(&Found) -> Option<String>,
    number: usize,
) -> Option<String> {
    let whole = case.whole.clone();
    let mut text = source.text.get(whole.clone())?.to_owned();
    for found in used.iter().rev() {
        if let Some(new) = edits(found) {
            let at = found.at.start.checked_sub(whole.start)?..found.at.end.checked_sub(whole.start)?;
            text.replace_range(at, &new);
        }
    }
    renamed(&text, &case.name, &tag(number))
}

/// Returns a copy of a test with a tag after its name, to be placed after the test.
pub(super) fn renamed(test: &str, called: &str, tag: &str) -> Option<String> {
    let named = name(test, called)?;
    let is_title = called.contains(' ') || test[..named.start].ends_with(['"', '\'', '`']);
    let sign = if is_title { format!(" {tag}") } else { format!("_{tag}") };
    let mut text = test.to_owned();
    text.insert_str(named.end, &sign);
    let before = if is_title { ";\n" } else { "\n\n" };
    Some(format!("{before}{text}\n"))
}

/// Returns the range of a test's name: before its parameters, or as the title in a call.
fn name(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let ends = |at: usize| {
        let rest = text[at + name.len()..].trim_start();
        rest.starts_with(['(', '<', '"', '\'', '`'])
    };
    let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = text.match_indices(name).map(|(at, _)| at).find(|at| begins(*at) && ends(*at));
    found.map(|at| at..at + name.len())
}

/// Returns the tag that identifies a copy in a report.
fn tag(number: usize) -> String {
    format!("nb{number}q")
}

/// Returns the values that the code of a change has and did not have before.
fn new_values(code: &Code) -> Vec<(String, Found)> {
    let read = |text: &str| -> Vec<Found> {
        match Language::of(&code.path) {
            Some(language) => {
                let source = Source::new(language, text.to_owned());
                literals(&source, 0..text.len())
            }
            None => literal::plain(text),
        }
    };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for found in read(&code.old) {
        *known.entry(found.raw).or_default() += 1;
    }
    let mut new = read(&code.new);
    new.retain(|found| match known.get_mut(&found.raw) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    });
    new.into_iter().map(|found| (code.path.clone(), found)).collect()
}

/// Returns the values that the change is made for, according to the copies' results without and with it.
pub fn special(plan: &Plan, without: &Merged, with: &Merged) -> Vec<Special> {
    let mut found = Vec::new();
    for asked in &plan.asked {
        let control = of_copy(with, asked.control);
        let red = of_copy(without, asked.control);
        let passes = |all: &Copies| all.values().all(Option::is_none);
        if control.is_empty() || !passes(&control) || passes(&red) {
            continue;
        }
        let mut tried = Vec::new();
        let mut differs = false;
        for (number, other) in &asked.copies {
            let (mut before, mut now) = (of_copy(without, *number), of_copy(with, *number));
            // Rows that a copy did not change have the same names as in the control.
            if now.keys().any(|row| !control.contains_key(row)) {
                now.retain(|row, _| !control.contains_key(row));
                before.retain(|row, _| !control.contains_key(row));
            }
            // The replaced value is what the code returned: the test's expectation, not its input.
            let is_answer =
                !asked.is_given && now.values().flatten().any(|said| has_word(said, &asked.value));
            if now.is_empty() || before.is_empty() || is_answer {
                continue;
            }
            differs |= before != now;
            tried.push(other.clone());
        }
        let fewest = if asked.is_given { FEWEST_GIVEN } else { FEWEST };
        if !differs && tried.len() >= fewest {
            let Asked { value, path, line, is_given, .. } = asked.clone();
            found.push(Special { value, path, line, tried, is_given });
        }
    }
    found
}

/// The results of a copy's tests, by name without its tag: the message of each that failed.
type Copies = BTreeMap<String, Option<String>>;

fn of_copy(merged: &Merged, number: usize) -> Copies {
    let tag = tag(number);
    let of_it = |id: &&TestId| id.name.contains(&tag);
    let ended = |id: &TestId| match merged.of(id) {
        // The copy itself does not work with the other value, so it shows nothing about the code.
        Known::Red(case) if is_of_test(case) => None,
        Known::Red(case) => Some(Some(essence(&case.message).replace(&tag, ""))),
        Known::Passed => Some(None),
        Known::Skipped | Known::Flaky | Known::Absent => None,
    };
    let all = merged.results.tests.keys().filter(of_it);
    all.filter_map(|id| Some((id.name.replace(&tag, ""), ended(id)?))).collect()
}

/// Returns whether a copy failed by its own error, raised neither in the code under test nor by its result.
fn is_of_test(case: &Ended) -> bool {
    static ERROR: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception))\b"));
    const AT_RESULT: [&str; 9] = [
        "AssertionError",
        "TypeError",
        "AttributeError",
        "KeyError",
        "IndexError",
        "NullPointerException",
        "IndexOutOfBoundsException",
        "ArrayIndexOutOfBoundsException",
        "ClassCastException",
    ];
    let name = ERROR.captures(&case.message).and_then(|found| found.get(1));
    case.outcome == Outcome::Error
        && case.raised.is_none()
        && name.is_some_and(|name| !AT_RESULT.contains(&name.as_str()))
}

/// Returns a failure's message without its location: equal for code that behaves the same.
fn essence(message: &str) -> String {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"[\w./-]+\.(rs|py|go|java|[cm]?[jt]sx?):\d+(:\d+)?|\bline \d+|0x[0-9a-f]+|\(\d+\) panicked|nb\d+q|\x1b\[[\d;]*m",
        )
    });
    static FRAME: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"^\s*(at \S+|File ".*|❯ .*|goroutine \d+.*|stack backtrace.*|\d+: .*)$"#));
    // pytest shows the code around a failure and marks the failing line.
    let marked: Vec<&str> = message.lines().filter(|line| line.starts_with("E  ")).collect();
    let lines: Vec<&str> = if marked.is_empty() {
        message.lines().take_while(|line| !FRAME.is_match(line)).collect()
    } else {
        marked
    };
    PLACE.replace_all(&lines.join("\n"), "").into_owned()
}

/// Returns whether a text contains a word as a whole.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '.';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(|c: char| c.is_alphanumeric())
    })
}

impl Found {
    /// Returns whether code that checks for this value may check for that one of a test.
    fn is_about(&self, other: &Found) -> bool {
        match (&self.value, &other.value) {
            (Value::Number(a), Value::Number(b)) => {
                (a - b).abs() < 1.5 && (self.is_asked && (a - b).abs() < 0.5 || self.is_bound)
            }
            (Value::Text(a), Value::Text(b)) => {
                a == b || a.len() > 3 && b.contains(a.as_str()) || b.len() > 3 && a.contains(b.as_str())
            }
            (Value::Text(text), Value::Number(_)) | (Value::Number(_), Value::Text(text)) => {
                let digits = if matches!(self.value, Value::Text(_)) { &other.raw } else { &self.raw };
                text.split(|c: char| !c.is_alphanumeric() && c != '.').any(|part| part == digits)
            }
        }
    }
}

#[cfg(test)]
mod tests;
