//! The scripted agent, seen from the harness: this same binary plays a script, and prints [`AgentEvent`] as lines of JSON.

use std::ffi::OsString;
use std::path::Path;

use acquit_core::agent::AgentEvent;

use super::{Parser, Server};

/// The hidden verb of the binary that plays scripts.
pub const VERB: &str = "scripted-agent";

/// How the player is started.
pub(super) fn program(helper: &Path, script: &Path, tools: Option<&Server>) -> (OsString, Vec<OsString>) {
    let mut args = vec![VERB.into(), script.into()];
    args.extend(tools.iter().flat_map(|server| server.args.iter().map(OsString::from)));
    (helper.into(), args)
}

/// A line is one [`AgentEvent`] as JSON; what is not is kept as it is.
pub(super) struct Lines;

impl Parser for Lines {
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
