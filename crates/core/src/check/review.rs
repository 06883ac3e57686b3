//! Parses the findings of a review and checks that each points into the change.
//!
//! A reviewer is an agent, and its words prove nothing. But a person can look at a finding that names a line of the
//! change, and another agent can fix it. A finding that points elsewhere is about something the change did not do, or
//! is made up. Then the whole report is refused, and the agent is told which finding is wrong.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diff::{Diff, FileChange, Side};
use crate::agent::shorten;
use crate::json_schema;

/// Maximum number of findings in a review. No one reads more, and the worst are not among the last.
const MOST_FINDINGS: usize = 200;

/// Maximum number of misplaced findings to report at once.
const MOST_TOLD: usize = 8;

/// Maximum number of line ranges to suggest for a file.
const MOST_RANGES: usize = 12;

/// Maximum length of a shown path.
const PATH_SHOWN: usize = 200;

/// A finding of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Severity.
    pub severity: Severity,
    /// Path of the file.
    pub file: String,
    /// Line number, starting at 1.
    pub line: u32,
    /// Whether the line number is that after or before the change.
    #[serde(default)]
    pub side: When,
    /// What goes wrong, and for which input.
    pub problem: String,
    /// Suggested fix.
    #[serde(default)]
    pub suggestion: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The change must not be delivered with it.
    Critical,
    /// It should be fixed.
    Suggestion,
    /// A matter of taste.
    Nit,
}

impl Severity {
    /// Returns the name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Suggestion => "suggestion",
            Self::Nit => "nit",
        }
    }
}

/// The side of the change in which a line is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The current file.
    #[default]
    After,
    /// The file before the change, for removed lines.
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
    /// Collects the lines of a diff, including its context.
    pub fn of(diff: &Diff) -> Self {
        let mut files: BTreeMap<String, Ranges> = BTreeMap::new();
        for file in &diff.files {
            let ranges = Ranges::of(file);
            if let (Some(old), Some(_)) = (&file.old, &file.new)
                && old != file.path()
            {
                // A removed line of a renamed file can also be named by the old path.
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
            // A file that was only renamed, or is not text: findings can be about the file itself.
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

/// Returns the JSON Schema of findings in a payload. The workflow defines the rest of the payload.
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

/// Returns the findings in a review's payload if all of them are well-formed; empty if there is no list.
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

/// Returns the findings in a review's payload if each is well-formed and points into the change; else every mistake,
/// described for the reviewer.
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
    /// Describes where a finding should have pointed.
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
