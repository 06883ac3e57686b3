//! Agents that speak the Agent Client Protocol: one adapter for all of them.
//!
//! The protocol goes both ways over the agent's standard input and output, while the harness gives every agent a file to read and
//! reads what it writes to another. So a small client of ours stands between them, inside the sandbox, as the agent's parent: it
//! reads the prompt, speaks with the agent, and prints what the agent says in acquit's own language, a line each.
//!
//! [`conversation`] is the conversation as a value, without a process: messages go in, messages and words come out. `hearing` turns what the
//! agent tells into words, `permission` answers what it asks, [`client`] connects all of it with a real process.

use acquit_core::agent::Session;
use acquit_core::role::Tool;
use acquit_core::workflow::Mode;
use serde::{Deserialize, Serialize};

use crate::mcp::Server;

pub mod client;
pub mod conversation;
mod errors;
mod permission;
mod updates;

/// The hidden verb of the binary that is the client.
pub const VERB: &str = "acp-client";

/// What the client must know beside the prompt. It is an argument, so nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether the stage changes the repository.
    pub stage: Stage,
    /// The conversation to go on with.
    pub session: Option<String>,
    /// What that conversation had cost before, in millionths of a dollar: agents tell the sum.
    pub cost_before: u64,
    /// acquit's own tools: a program and its arguments.
    pub tools: Option<Vec<String>>,
    /// The tools that its definition allows; `None` for everything.
    pub allowed: Option<Vec<Tool>>,
}

/// Whether a stage changes the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It does.
    Writes,
    /// It only looks: what an agent changes is put aside.
    Looks,
}

impl Settings {
    /// The settings for a turn.
    pub fn new(
        mode: Mode,
        session: Option<&Session>,
        tools: Option<&Server>,
        allowed: Option<&[Tool]>,
    ) -> Self {
        let command = |server: &Server| [std::slice::from_ref(&server.program), &server.args].concat();
        Self {
            stage: if mode.writes() { Stage::Writes } else { Stage::Looks },
            session: session.map(|session| session.id.clone()),
            cost_before: session.and_then(|session| session.total.cost_micros).unwrap_or(0),
            tools: tools.map(command),
            allowed: allowed.map(<[Tool]>::to_vec),
        }
    }
}
