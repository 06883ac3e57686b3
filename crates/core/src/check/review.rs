//! The findings of a review: what form they have, and whether each points into the change.
//!
//! A reviewer is an agent, and what it says proves nothing; but a finding that names a line of the change can be looked at
//! by a person and mended by another agent. One that points elsewhere is about something that the change did not do, or is
//! made up, so the whole report is refused and its agent told which.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diff::{Diff, FileChange, Side};
use crate::agent::shorten;
use crate::json_schema;

/// The most findings of one review: beyond it nobody reads them, and the worst are not among the last.
const MOST_FINDINGS: usize = 200;

/// How many findings that point nowhere are told at once.
const MOST_TOLD: usize = 8;

/// How many ranges of a file are named to whoever missed them.
const MOST_RANGES: usize = 12;

/// How much of a path is shown.
const PATH_SHOWN: usize = 200;

/// What a reviewer found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// The line in it, from 1.
    pub line: u32,
    /// Whether the line is counted after the change or before it.
    #[serde(default)]
    pub side: When,
    /// What goes wrong, and for which input.
    pub problem: String,
    /// How it could be mended.
    #[serde(default)]
    pub suggestion: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The change must not be delivered with it.
    Critical,
    /// It should be mended.
    Suggestion,
    /// A matter of taste.
    Nit,
}

impl Severity {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Suggestion => "suggestion",
            Self::Nit => "nit",
        }
    }
}

/// On which side of the change a line is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// In the file as it is now.
    #[default]
    After,
    /// In the file as it was: for lines that are gone.
    Before,
}

/// The lines that findings may point to: those that a diff shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    files: BTreeMap<String, Ranges>,
}

/// Ranges of lines, first and last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ranges {
    after: Vec<(u32, u32)>,
    before: Vec<(u32, u32)>,
}

impl Lines {
    /// The lines of a diff: changed ones and those around them that it was made with.
    pub fn of(diff: &Diff) -> Self {
        let mut files: BTreeMap<String, Ranges> = BTreeMap::new();
        for file in &diff.files {
            let ranges = Ranges::of(file);
            if let (Some(old), Some(_)) = (&file.old, &file.new)
                && old != file.path()
            {
                // What is gone from a file that moved can be named by the name that it had.
                let before = ranges.before.clone();
                files.entry(old.clone()).or_default().before.extend(before);
            }
            let entry = files.entry(file.path().to_owned()).or_default();
            entry.after.extend(ranges.after);
            entry.before.extend(ranges.before);
        }
        Self { files }
    }

    fn has(&self, found: &Found) -> bool {
        let ranges = self.files.get(&found.file).map(|ranges| ranges.on(found.side));
        ranges.is_some_and(|all| all.iter().any(|(first, last)| (*first..=*last).contains(&found.line)))
    }
}

impl Ranges {
    fn of(file: &FileChange) -> Self {
        let mut ranges = Self::default();
        for line in &file.lines {
            match line.side {
                Side::Removed => extend(&mut ranges.before, line.number),
                Side::Added | Side::Both => extend(&mut ranges.after, line.number),
            }
        }
        if file.lines.is_empty() {
            // Something that was only moved, or is no text: the file itself is what can be found fault with.
            let side = if file.new.is_some() { &mut ranges.after } else { &mut ranges.before };
            side.push((1, 1));
        }
        ranges
    }

    fn on(&self, side: When) -> &[(u32, u32)] {
        match side {
            When::After => &self.after,
            When::Before => &self.before,
        }
    }
}

fn extend(ranges: &mut Vec<(u32, u32)>, line: u32) {
    match ranges.last_mut() {
        Some((_, last)) if last.checked_add(1) == Some(line) => *last = line,
        _ => ranges.push((line, line)),
    }
}

/// The form of findings in a payload, as a JSON Schema. What a workflow demands of the rest of the payload is its own
/// business.
fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "type": "object",
        "properties": { "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["severity", "file", "line", "problem"],
                "properties": {
                    "severity": { "enum": ["critical", "suggestion", "nit"] },
                    "file": text,
                    "line": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
                    "side": { "enum": ["after", "before"] },
                    "problem": text,
                    "suggestion": { "type": ["string", "null"] },
                },
            },
        } },
    })
}

/// The findings of a review's payload, if all of them have the right form. None if there is no list of them.
pub fn findings(payload: &Value) -> Result<Vec<Found>, Vec<String>> {
    let count = payload.get("findings").and_then(Value::as_array).map_or(0, Vec::len);
    if count > MOST_FINDINGS {
        return Err(vec![format!(
            "at /findings: {count} findings; {MOST_FINDINGS} are allowed, so leave the least of them out"
        )]);
    }
    let wrong = json_schema::mistakes(&schema(), payload);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let Some(list) = payload.get("findings") else { return Ok(Vec::new()) };
    serde_json::from_value(list.clone()).map_err(|error| vec![shorten(&format!("findings: {error}"), 300)])
}

/// The findings of a review's payload, if each has the right form and points into the change; else every mistake, in words
/// for the reviewer.
pub fn pointed(payload: &Value, lines: &Lines) -> Result<Vec<Found>, Vec<String>> {
    let all = findings(payload)?;
    let astray: Vec<(usize, &Found)> =
        all.iter().enumerate().filter(|(_, found)| !lines.has(found)).collect();
    if astray.is_empty() {
        return Ok(all);
    }
    let mut told: Vec<String> =
        astray.iter().take(MOST_TOLD).map(|(number, found)| lines.missed(*number, found)).collect();
    if astray.len() > MOST_TOLD {
        told.push(format!("and {} more findings that point nowhere", astray.len() - MOST_TOLD));
    }
    Err(told)
}

impl Lines {
    /// Where a finding should have pointed.
    fn missed(&self, number: usize, found: &Found) -> String {
        let file = shorten(&found.file, PATH_SHOWN);
        let place = match found.side {
            When::After => format!("at /findings/{number}: the change does not show {file}:{}", found.line),
            When::Before => {
                format!("at /findings/{number}: the change takes no line {} out of {file}", found.line)
            }
        };
        let Some(ranges) = self.files.get(&found.file) else {
            return format!("{place}; it does not touch this file");
        };
        let on_other = match found.side {
            When::After => When::Before,
            When::Before => When::After,
        };
        let other = Found { side: on_other, ..found.clone() };
        if self.has(&other) {
            let word = match on_other {
                When::After => "after",
                When::Before => "before",
            };
            return format!("{place}; if you mean the line {word} the change, set `side` to \"{word}\"");
        }
        match ranges.on(found.side) {
            [] => format!("{place}; there are no such lines in this file"),
            ranges => format!("{place}; there it shows {}", listed(ranges)),
        }
    }
}

fn listed(ranges: &[(u32, u32)]) -> String {
    let range = |(first, last): &(u32, u32)| {
        if first == last { format!("{first}") } else { format!("{first}-{last}") }
    };
    let mut words: Vec<String> = ranges.iter().take(MOST_RANGES).map(range).collect();
    if ranges.len() > MOST_RANGES {
        words.push("…".to_owned());
    }
    format!("lines {}", words.join(", "))
}
