//! Mutation reports: parses reports of cargo-mutants, of tools with the mutation-testing-report schema (such as
//! Stryker) and of cosmic-ray, and applies them to a change.
//!
//! Tools mutate more than the changed lines, so only mutants whose span touches a changed line count. A comment
//! `acquit:equivalent <why>` on its line or the line above marks a survivor as equivalent. Only a few are allowed, each
//! needs a reason, and each is shown to reviewers.

use std::collections::{HashMap, HashSet};

use globset::GlobSet;
use serde_json::Value;

use super::Finding;
use super::diff::{Diff, Side};
use crate::agent::shorten;

/// Marker of a comment that calls a survivor equivalent.
pub const MARKER: &str = "acquit:equivalent";

/// Maximum number of mutants to read.
const MOST: usize = 500_000;
/// Minimum number of words of a reason. Fewer explain nothing.
const WORDS: usize = 3;
/// Maximum length of a shown mutant.
const SHOWN: usize = 120;

/// A change that a tool made to see whether a test notices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// File, as named by the tool.
    pub file: String,
    /// First changed line.
    pub first: u32,
    /// Last changed line.
    pub last: u32,
    /// The tool's description.
    pub what: String,
    /// Result.
    pub fate: Fate,
}

/// The result of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A test failed or timed out.
    Caught,
    /// No test noticed.
    Survived,
    /// It did not compile or was not tried, so it says nothing.
    Void,
}

/// Why a report cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error("understand the report of mutants: {0}")]
    Json(String),
    /// It is JSON of an unknown format.
    #[error(
        "understand the report of mutants: it is none of cargo-mutants (outcomes.json), of the mutation-testing-report schema or \
         of `cosmic-ray dump`"
    )]
    Form,
}

/// Parses a report of any known format.
pub fn read(text: &str) -> Result<Vec<Mutant>, Unreadable> {
    if text.trim_start().starts_with('[') {
        return cosmic_ray(text);
    }
    let report: Value = serde_json::from_str(text).map_err(|error| Unreadable::Json(error.to_string()))?;
    match (report.get("outcomes").and_then(Value::as_array), report.get("files").and_then(Value::as_object)) {
        (Some(outcomes), _) => Ok(outcomes.iter().filter_map(cargo_mutant).take(MOST).collect()),
        (None, Some(files)) => {
            let mutants = files.iter().flat_map(|(path, file)| {
                let mutants = file.get("mutants").and_then(Value::as_array);
                mutants.into_iter().flatten().filter_map(|mutant| schema_mutant(path, mutant))
            });
            Ok(mutants.take(MOST).collect())
        }
        (None, None) => Err(Unreadable::Form),
    }
}

fn cargo_mutant(outcome: &Value) -> Option<Mutant> {
    let mutant = outcome.get("scenario")?.get("Mutant")?;
    let line = |end: &str| mutant.get("span")?.get(end)?.get("line").and_then(number);
    let fate = match outcome.get("summary")?.as_str()? {
        "CaughtMutant" | "Timeout" => Fate::Caught,
        "MissedMutant" => Fate::Survived,
        _ => Fate::Void,
    };
    let what = mutant.get("name").and_then(Value::as_str).or_else(|| mutant.get("replacement")?.as_str());
    // The tool's name of a mutant starts with its location, which is already known.
    let what = what.unwrap_or_default().rsplit_once(": ").map_or(what.unwrap_or_default(), |(_, what)| what);
    let file = mutant.get("file")?.as_str()?.to_owned();
    Some(Mutant { file, first: line("start")?, last: line("end")?, what: shorten(what, SHOWN), fate })
}

fn schema_mutant(path: &str, mutant: &Value) -> Option<Mutant> {
    let line = |end: &str| mutant.get("location")?.get(end)?.get("line").and_then(number);
    let fate = match mutant.get("status")?.as_str()? {
        "Killed" | "Timeout" => Fate::Caught,
        "Survived" | "NoCoverage" => Fate::Survived,
        _ => Fate::Void,
    };
    let text = |key: &str| mutant.get(key).and_then(Value::as_str).unwrap_or_default();
    let what = format!("{}: {}", text("mutatorName"), text("replacement"));
    Some(Mutant {
        file: path.to_owned(),
        first: line("start")?,
        last: line("end")?,
        what: shorten(what.trim_end_matches([':', ' ']), SHOWN),
        fate,
    })
}

/// Parses one line per mutant: the mutation and its result.
fn cosmic_ray(text: &str) -> Result<Vec<Mutant>, Unreadable> {
    let mut mutants = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(MOST) {
        let row: Value = serde_json::from_str(line).map_err(|error| Unreadable::Json(error.to_string()))?;
        let work = row.get(0).ok_or(Unreadable::Form)?;
        let result = row.get(1);
        let word = |key: &str| result.and_then(|result| result.get(key)?.as_str());
        let fate = match (word("worker_outcome"), word("test_outcome")) {
            (_, Some("survived")) => Fate::Survived,
            (_, Some("killed")) | (Some("timeout"), _) => Fate::Caught,
            (_, _) => Fate::Void,
        };
        for mutation in work.get("mutations").and_then(Value::as_array).into_iter().flatten() {
            let line = |key: &str| mutation.get(key)?.get(0).and_then(number);
            let text = |key: &str| mutation.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            if let (Some(first), Some(last)) = (line("start_pos"), line("end_pos")) {
                mutants.push(Mutant {
                    file: text("module_path"),
                    first,
                    last,
                    what: text("operator_name"),
                    fate,
                });
            }
        }
    }
    Ok(mutants)
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// The mutation score of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Mutants of changed lines that say something.
    pub mutants: usize,
    /// Caught mutants.
    pub caught: usize,
    /// Mutants that are marked as equivalent with a reason; they don't count.
    pub equivalent: Vec<Finding>,
    /// Surviving mutants.
    pub survivors: Vec<Finding>,
}

impl Score {
    /// Returns the percentage, rounded down; `None` if there are no mutants.
    pub fn percent(&self) -> Option<usize> {
        let counted = self.mutants - self.equivalent.len();
        (counted > 0).then(|| self.caught * 100 / counted)
    }
}

/// Computes the score for the lines that a change adds. The diff must contain whole files, so that markers above a
/// changed line are found.
pub fn score(mutants: &[Mutant], diff: &Diff, root: &str, most_equivalent: u32, exempt: &GlobSet) -> Score {
    let mut changed: HashMap<&str, HashSet<u32>> = HashMap::new();
    let mut reasons: HashMap<&str, HashMap<u32, String>> = HashMap::new();
    for file in &diff.files {
        let Some(path) = file.new.as_deref().filter(|path| !exempt.is_match(path)) else { continue };
        changed.insert(path, file.added().map(|line| line.number).collect());
        let shown = file.lines.iter().filter(|line| line.side != Side::Removed);
        let marked = shown.filter_map(|line| Some((line.number, reason(&line.text)?)));
        reasons.insert(path, marked.collect());
    }
    let mut score = Score::default();
    for mutant in mutants.iter().filter(|mutant| mutant.fate != Fate::Void) {
        let file = mutant.file.replace('\\', "/");
        let file = file.strip_prefix(root).unwrap_or(&file).trim_start_matches("./").trim_start_matches('/');
        let Some((path, lines)) = changed.get_key_value(file) else { continue };
        // A span that ends before it starts matches nothing; a span over everything matches the lines that exist.
        let touched = lines.iter().any(|line| (mutant.first..=mutant.last).contains(line));
        if !touched {
            continue;
        }
        score.mutants += 1;
        if mutant.fate == Fate::Caught {
            score.caught += 1;
            continue;
        }
        let at = |line: u32| reasons.get(path).and_then(|marked| marked.get(&line));
        let why = at(mutant.first).or_else(|| at(mutant.first.saturating_sub(1)));
        let place = Finding::new("survivor", path, Some(mutant.first), "");
        match why {
            Some(why) if score.equivalent.len() < most_equivalent as usize => {
                let what = format!("called equivalent: {} ({why})", mutant.what);
                score.equivalent.push(Finding { rule: "equivalent", what, ..place });
            }
            Some(_) | None => {
                let what = format!("no test notices this mutant: {}", mutant.what);
                score.survivors.push(Finding { what, ..place });
            }
        }
    }
    score
}

/// Returns the reason in a line, if there is one.
fn reason(line: &str) -> Option<String> {
    let (_, why) = line.split_once(MARKER)?;
    let why = why.trim_start_matches([':', ' ', '-', '—']).trim_end_matches("*/").trim();
    (why.split_whitespace().count() >= WORDS).then(|| shorten(why, SHOWN))
}
