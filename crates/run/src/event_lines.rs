//! [`AgentEvent`]s as lines of JSON: how agents that are part of this program report events to the harness.

use std::io::{self, Write};

use acquit_core::agent::AgentEvent;

/// Prints events, one per line.
pub(crate) fn say(out: &mut dyn Write, said: &[AgentEvent]) -> io::Result<()> {
    for said in said {
        writeln!(out, "{}", serde_json::to_string(said)?)?;
    }
    out.flush()
}
