//! Any agent that speaks the Agent Client Protocol, seen from the harness: this same binary is the client, inside the sandbox, and prints
//! [`AgentEvent`] as lines of JSON.

use std::path::PathBuf;

use acquit_core::agent::AgentEvent;
use acquit_core::gate::Command;

use super::{Error, Launch, Parser, Tells, Wanted, program};
use crate::acp::{Settings, VERB};

/// How the client is started: its settings, and the agent's own command.
pub(super) fn launch(wanted: &Wanted<'_>, run: &Command) -> Result<Launch, Error> {
    let (agent, args) = program(run)?;
    let settings = Settings::new(wanted.mode, wanted.session, wanted.tools, wanted.allowed);
    // Texts, an enum and a number: nothing in it that JSON does not have.
    let settings = serde_json::to_string(&settings).unwrap_or_default();
    let mut launch = Launch::new((wanted.runtime.spawner.helper.clone().into(), Vec::new()));
    launch.parts.extend(Some(PathBuf::from(&agent)).filter(|agent| agent.is_absolute()));
    launch.args([VERB.into(), settings.into(), agent]);
    launch.args(args);
    Ok(launch)
}

/// A line is one [`AgentEvent`] as JSON; what is not is kept as it is.
pub(super) struct Lines;

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        super::scripted::Lines.line(line, said);
    }
}
