//! Reads the candidate that an analyst chose from the payload of its outcome, and compares candidates.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::shorten;

/// Maximum size of a stored title.
const TITLE: usize = 160;
/// Maximum size of a path, and maximum number of paths to compare.
const PATH: usize = 200;
const FILES: usize = 20;
/// Two candidates for the same files are the same if this share of their words is equal: a half.
const ALIKE: (usize, usize) = (1, 2);

/// Something that an analyst chose to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// One-line title.
    pub title: String,
    /// Files it is about.
    #[serde(default)]
    pub files: Vec<String>,
    /// Kind of improvement, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// Returns the title of the chosen candidate.
pub fn chosen(payload: &Value) -> Option<&str> {
    title(selected(payload)?)
}

fn title(candidate: &Value) -> Option<&str> {
    let text = |key: &str| candidate.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    text("title").or_else(|| text("description"))
}

/// Returns the chosen candidate: `selected`, as an object, a rank or a title, or else the first of `candidates`.
fn selected(payload: &Value) -> Option<&Value> {
    let list = payload.get("candidates").and_then(Value::as_array);
    let by = |wanted: &Value| {
        let rank = |one: &&Value| one.get("rank") == Some(wanted) || one.get("title") == Some(wanted);
        list.and_then(|list| list.iter().find(rank))
    };
    let chosen = match payload.get("selected") {
        Some(selected @ Value::Object(_)) => Some(selected),
        Some(other) => by(other),
        None => None,
    };
    chosen.or_else(|| list.and_then(|list| list.first()))
}

impl Candidate {
    /// Reads the chosen candidate from an analyst's payload.
    pub fn of(payload: &Value) -> Option<Self> {
        let chosen = selected(payload)?;
        let text = |key: &str| chosen.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let title = title(chosen)?;
        let files = chosen.get("files").and_then(Value::as_array).into_iter().flatten();
        let files = files.filter_map(Value::as_str).take(FILES).map(|file| shorten(file, PATH)).collect();
        let category = text("category").or_else(|| payload.get("category").and_then(Value::as_str));
        Some(Self {
            title: shorten(title.trim(), TITLE),
            files,
            category: category.map(|text| shorten(text, 40)),
        })
    }

    /// Returns whether both are the same idea.
    pub fn is_like(&self, other: &Self) -> bool {
        let (mine, theirs) = (words(&self.title), words(&other.title));
        if !mine.is_empty() && mine == theirs {
            return true;
        }
        let files = |candidate: &Self| -> BTreeSet<String> {
            candidate.files.iter().map(|file| file.trim_start_matches("./").to_lowercase()).collect()
        };
        let same_files = !self.files.is_empty() && files(self) == files(other);
        let (common, all) = (mine.intersection(&theirs).count(), mine.union(&theirs).count());
        same_files && common * ALIKE.1 >= all * ALIKE.0
    }
}

/// Returns the significant words of a title.
fn words(title: &str) -> BTreeSet<String> {
    const EMPTY: [&str; 18] = [
        "a", "an", "the", "of", "for", "to", "in", "on", "and", "with", "from", "by", "at", "is", "are",
        "some", "more", "missing",
    ];
    title
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        // Treat `test` and `tests`, `helper` and `helpers` as equal.
        .map(|word| if word.len() > 3 { word.trim_end_matches('s').to_owned() } else { word })
        .collect()
}
