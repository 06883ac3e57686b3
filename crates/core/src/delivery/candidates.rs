//! The candidates that an analyst ranked, as listed in a pull request: by rank, with the chosen one and why.

use serde_json::Value;

use crate::candidate::Candidate;
use crate::task::Task;

/// Maximum number of listed candidates. No analyst is asked for more than five.
const MOST: usize = 8;
/// Maximum number of files named per candidate.
const FILES: usize = 5;

/// Returns a line for each candidate of the newest analysis behind the work; empty if there was no analysis.
pub(super) fn candidates(task: &Task) -> Vec<String> {
    let analysis = task.legs_of_work().rev().find_map(|past| {
        let payload = &past.ending.passed()?.payload;
        payload.get("candidates")?.as_array().map(|list| (payload, list))
    });
    let Some((payload, list)) = analysis else { return Vec::new() };
    let chosen = Candidate::of(payload);
    let title = |one: &Value| {
        let text = |key: &str| one.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        text("title").or_else(|| text("description")).map(str::to_owned)
    };
    let mut ranked: Vec<(u64, &Value)> = list
        .iter()
        .zip(1..)
        .map(|(one, place)| (one.get("rank").and_then(Value::as_u64).unwrap_or(place), one))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let line = |(rank, one): (u64, &Value)| {
        let title = title(one)?;
        let is_chosen =
            chosen.as_ref().is_some_and(|chosen| title.starts_with(chosen.title.trim_end_matches('…')));
        let files = one.get("files").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<&str> = files.filter_map(Value::as_str).take(FILES).collect();
        let files = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        let why = one.get("rationale").or_else(|| one.get("reason")).and_then(Value::as_str);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let mark = if is_chosen { ", chosen" } else { "" };
        Some(format!("Rank {rank}{mark}: {title}{files}{why}"))
    };
    ranked.into_iter().take(MOST).filter_map(line).collect()
}
