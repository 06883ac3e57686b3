//! Adapter for any agent that speaks the Agent Client Protocol. This same binary is the client. It runs inside the
//! sandbox and prints each [`AgentEvent`] as a line of JSON.

use std::path::PathBuf;

use acquit_core::agent::AgentEvent;
use acquit_core::gate::Command;

use super::{Error, Launch, Parser, Shown, Tells, Wanted, program};
use crate::acp::{Settings, VERB};

/// Starts the client with its settings and the command of the agent.
pub(super) fn launch(wanted: &Wanted<'_>, run: &Command) -> Result<Launch, Error> {
    let (agent, args) = program(run)?;
    let settings = Settings::new(wanted.mode, wanted.session, wanted.tools, wanted.allowed);
    // Serialization cannot fail: the settings contain only strings, an enum and a number.
    let settings = serde_json::to_string(&settings).unwrap_or_default();
    let mut launch = Launch::new((wanted.runtime.spawner.helper.clone().into(), Vec::new()));
    launch.parts.extend(Some(PathBuf::from(&agent)).filter(|agent| agent.is_absolute()));
    launch.args([VERB.into(), settings.into(), agent]);
    launch.args(args);
    Ok(launch)
}

/// Parses each line as one [`AgentEvent`] in JSON. Keeps other lines as raw text.
pub(super) struct Lines;

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn turns(&self) -> Shown {
        Shown::ByResults
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        super::scripted::Lines.line(line, said);
    }
}
