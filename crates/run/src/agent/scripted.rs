//! Adapter for the scripted agent: this same binary plays a script and prints each [`AgentEvent`] as a line of JSON.

use std::ffi::OsString;
use std::path::Path;

use acquit_core::agent::AgentEvent;

use super::{Parser, Server, Shown};

/// Hidden subcommand of the binary that plays scripts.
pub const VERB: &str = "scripted-agent";

/// Returns how to start the player.
pub(super) fn program(helper: &Path, script: &Path, tools: Option<&Server>) -> (OsString, Vec<OsString>) {
    let mut args = vec![VERB.into(), script.into()];
    args.extend(tools.iter().flat_map(|server| server.args.iter().map(OsString::from)));
    (helper.into(), args)
}

/// Parses each line as one [`AgentEvent`] in JSON. Keeps other lines as raw text.
pub(super) struct Lines;

impl Parser for Lines {
    fn turns(&self) -> Shown {
        Shown::ByResults
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        said.push(
            serde_json::from_slice(line)
                .unwrap_or_else(|_| AgentEvent::Raw { text: String::from_utf8_lossy(line).into_owned() }),
        );
    }
}
