//! Finds mistakes in schedules that need the rest of the project to detect: an unknown workflow, time zone or category.
//!
//! The reader of `acquit.toml` checks each schedule by itself. It is pure, so it knows neither the machine's time zones
//! nor the project's workflows.

use acquit_core::schedule::{Categories, Schedule};
use acquit_core::toml_reader::{Mistake, nearest};
use jiff::tz;

use crate::project::{Known, Layer, Project};

/// Returns all mistakes in the order of the schedules. `layers` are the files of the configuration, to point at their
/// lines.
pub fn mistakes(project: &Project, layers: &[Layer]) -> Vec<Mistake> {
    let mut found = Vec::new();
    for schedule in &project.config.schedules {
        let mut report = |key: &str, what: String, hint: Option<String>| {
            found.push(mistake(layers, schedule, key, what, hint));
        };
        let name = &schedule.name;
        if let Some(zone) = schedule.zone.as_deref().filter(|zone| tz::TimeZone::get(zone).is_err()) {
            let hint = near_zone(zone).map_or_else(
                || "write it as in \"Europe/Berlin\"".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            report("zone", format!("schedule `{name}`: unknown time zone `{zone}`"), Some(hint));
        }
        let Some(known) = project.workflows.iter().find(|known| known.name == schedule.workflow) else {
            let there: Vec<&str> = project.workflows.iter().map(|known| known.name.as_str()).collect();
            let what = format!("schedule `{name}`: unknown workflow `{}`", schedule.workflow);
            let hint = match nearest(schedule.workflow.as_str(), there.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("workflows here: {}", there.join(", ")),
            };
            report("workflow", what, Some(hint));
            continue;
        };
        for category in categories(schedule) {
            if let Some((what, hint)) = unknown_category(known, category) {
                report("category", format!("schedule `{name}`: {what}"), Some(hint));
            }
        }
    }
    found
}

fn categories(schedule: &Schedule) -> Vec<&str> {
    match &schedule.category {
        Categories::Unsaid => Vec::new(),
        Categories::Always(category) => vec![category],
        Categories::Weekdays(days) => {
            let mut all: Vec<&str> = days.values().map(String::as_str).collect();
            all.sort_unstable();
            all.dedup();
            all
        }
    }
}

/// Returns why a workflow cannot start with a category, and a hint.
pub fn unknown_category(known: &Known, category: &str) -> Option<(String, String)> {
    // Mistakes of the workflow itself are reported elsewhere.
    let workflow = known.read.as_ref().ok()?;
    match &workflow.variation {
        None => Some((
            format!("workflow `{}` has no [variation] to begin with `{category}`", known.name),
            "remove `category`, or add [variation] to the workflow".to_owned(),
        )),
        Some(variation) if variation.values.iter().any(|value| value == category) => None,
        Some(variation) => Some((
            format!("workflow `{}` has no category `{category}`", known.name),
            format!("its categories: {}", variation.values.join(", ")),
        )),
    }
}

/// Returns the known time zone with the most similar name.
fn near_zone(wanted: &str) -> Option<String> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(wanted);
    let close = |name: &str| {
        let name = plain(name);
        let shared = wanted.iter().zip(&name).take_while(|(a, b)| a == b).count();
        let rest = |letters: &[char]| letters.len() - shared;
        let tail = wanted[shared..].iter().rev().zip(name[shared..].iter().rev());
        let tail = tail.take_while(|(a, b)| a == b).count();
        // Accepts one letter more, less or different, or two swapped.
        rest(&wanted).max(rest(&name)) <= tail + 2
    };
    tz::db().available().map(|name| name.to_string()).find(|name| close(name))
}

/// Returns a mistake in a key of a schedule: in the last file that sets the key, or else in the one that has the schedule.
fn mistake(layers: &[Layer], schedule: &Schedule, key: &str, what: String, hint: Option<String>) -> Mistake {
    let places = |key: &str| {
        layers.iter().rev().find_map(|layer| Some((layer.shown(), place(&layer.text, schedule, key)?)))
    };
    let (file, (line, column, source_line)) = places(key).or_else(|| places("name")).unwrap_or_default();
    Mistake { file, line, column, what, hint, source_line }
}

/// Returns line, column and text of a schedule's key, if the file sets it.
fn place(text: &str, schedule: &Schedule, key: &str) -> Option<(usize, usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let value = |line: &str, key: &str| {
        let rest = line.trim_start().strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(rest.trim().to_owned())
    };
    let starts = lines.iter().enumerate().filter(|(_, line)| line.trim() == "[[schedule]]").map(|(n, _)| n);
    for start in starts {
        let end = lines[start + 1..].iter().position(|line| is_header(line));
        let block = start..end.map_or(lines.len(), |end| start + 1 + end);
        let named = format!("\"{}\"", schedule.name);
        let is_it = lines[block.clone()]
            .iter()
            .any(|line| value(line, "name").is_some_and(|name| name.starts_with(&named)));
        if is_it {
            let at = block.clone().find(|number| value(lines[*number], key).is_some())?;
            let indent = lines[at].len() - lines[at].trim_start().len();
            return Some((at + 1, indent + 1, acquit_core::prompt::visible(lines[at])));
        }
    }
    None
}
