//! Reads `[retention]`.

use crate::retention::Retention;
use crate::toml_reader::Table;

/// Reads `[retention]`.
pub(super) fn retention(mut table: Table<'_, '_>, usual: Retention) -> Retention {
    let unfinished = table.span("unfinished").unwrap_or(usual.unfinished);
    let disk = table.bytes("disk").unwrap_or(usual.disk);
    let keep_free = table.bytes("keep_free").unwrap_or(usual.keep_free);
    let history = table.span("history").or(usual.history);
    table.finish();
    Retention { unfinished, disk, keep_free, history }
}
