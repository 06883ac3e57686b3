//! The part of the configuration that is about waiting for the model's provider.

use super::super::toml::{Table, quoted};
use super::super::{Hours, Patience, Waiting};

/// Reads `[waiting]`.
pub(super) fn waiting(mut table: Table<'_, '_>, usual: Waiting) -> Waiting {
    const WORDS: [(&str, Patience); 2] = [("wait", Patience::Wait), ("ask", Patience::Ask)];
    let usage = table.word("usage", &WORDS).map_or(usual.usage, |word| word.value);
    let longest = table.span("longest").unwrap_or(usual.longest);
    let slack = table.span("slack").unwrap_or(usual.slack);
    let hours = table.string("hours").map_or(usual.hours, |text| {
        let hours = Hours::parse(&text.value);
        if hours.is_none() {
            let what = format!("{} are not hours of the day", quoted(&text.value));
            table.source.report(text.place, what, Some("write them as \"22:00-06:00\"".to_owned()));
        }
        hours
    });
    let zone = table.string("zone").map_or(usual.zone, |zone| {
        let letter = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
        if zone.value.is_empty() || !zone.value.chars().all(letter) {
            let what = format!("{} is not a time zone", quoted(&zone.value));
            table.source.report(zone.place, what, Some("write its name: \"Europe/Berlin\"".to_owned()));
        }
        Some(zone.value)
    });
    table.finish();
    Waiting { usage, longest, slack, hours, zone }
}
