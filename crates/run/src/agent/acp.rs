//! Any agent that speaks the Agent Client Protocol, seen from the harness: this same binary is the client, inside the sandbox, and prints
//! [`Said`] as lines of JSON.

use std::ffi::OsString;
use std::path::Path;

use acquit_core::agent::Said;
use acquit_core::gate::Command;

use super::{Error, Parser, Tells, program};
use crate::acp::{Settings, VERB};

/// How the client is started: its settings, and the agent's own command.
pub(super) fn command(
    helper: &Path,
    run: &Command,
    settings: &Settings,
) -> Result<(OsString, Vec<OsString>), Error> {
    let (agent, args) = program(run)?;
    // Texts, an enum and a number: nothing in it that JSON does not have.
    let settings = serde_json::to_string(settings).unwrap_or_default();
    let mut all = vec![VERB.into(), settings.into(), agent];
    all.extend(args);
    Ok((helper.into(), all))
}

/// A line is one [`Said`] as JSON; what is not is kept as it is.
pub(super) struct Lines;

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        super::scripted::Lines.line(line, said);
    }
}
