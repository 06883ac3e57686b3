//! Reads times of day and time zones.

use super::super::Hours;
use crate::toml_reader::{Table, quoted};

/// Reads `hours`.
pub(super) fn hours(table: &mut Table<'_, '_>) -> Option<Hours> {
    let text = table.string("hours")?;
    let hours = Hours::parse(&text.value);
    if hours.is_none() {
        let what = format!("{} are not hours of the day", quoted(&text.value));
        table.source.report(text.place, what, Some("write them as \"22:00-06:00\"".to_owned()));
    }
    hours
}

/// Reads `zone`. Whether the machine knows it is checked where it is used.
pub(super) fn zone(table: &mut Table<'_, '_>) -> Option<String> {
    let zone = table.string("zone")?;
    let letter = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    if zone.value.is_empty() || !zone.value.chars().all(letter) {
        let what = format!("{} is not a time zone", quoted(&zone.value));
        table.source.report(zone.place, what, Some("write its name: \"Europe/Berlin\"".to_owned()));
    }
    Some(zone.value)
}
