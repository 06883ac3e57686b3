//! [`AgentEvent`]s as lines of JSON: how agents that are part of this program tell the harness what happens.

use std::io::{self, Write};

use acquit_core::agent::AgentEvent;

/// Prints what was said, a line each.
pub(crate) fn say(out: &mut dyn Write, said: &[AgentEvent]) -> io::Result<()> {
    for said in said {
        writeln!(out, "{}", serde_json::to_string(said)?)?;
    }
    out.flush()
}
