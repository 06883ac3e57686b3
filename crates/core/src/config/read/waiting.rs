//! Reads `[waiting]`.

use super::super::{Patience, Waiting};
use super::clock;
use crate::toml_reader::Table;

/// Reads `[waiting]`.
pub(super) fn waiting(mut table: Table<'_, '_>, usual: Waiting) -> Waiting {
    const WORDS: [(&str, Patience); 2] = [("wait", Patience::Wait), ("ask", Patience::Ask)];
    let usage = table.word("usage", &WORDS).map_or(usual.usage, |word| word.value);
    let longest = table.span("longest").unwrap_or(usual.longest);
    let slack = table.span("slack").unwrap_or(usual.slack);
    let hours = clock::hours(&mut table).or(usual.hours);
    let zone = clock::zone(&mut table).or(usual.zone);
    table.finish();
    Waiting { usage, longest, slack, hours, zone }
}
