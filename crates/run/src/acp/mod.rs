//! Agents that speak the Agent Client Protocol: one adapter for all of them.
//!
//! The protocol is bidirectional over the agent's standard input and output, but the harness gives every agent a file
//! to read and reads the file it writes. So a small client of ours runs between them, inside the sandbox, as the
//! agent's parent. It reads the prompt, talks to the agent, and prints the agent's events in acquit's own format, one
//! per line.
//!
//! [`conversation`] is the conversation as a state machine without a process: messages go in, messages and events come
//! out. `updates` converts what the agent reports into events, `permission` answers its requests, and [`client`]
//! connects all of it to a real process.

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

/// Hidden subcommand of the binary that is the client.
pub const VERB: &str = "acp-client";

/// Settings of the client in addition to the prompt. They are passed as an argument, so nothing in them is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether the stage changes the repository.
    pub stage: Stage,
    /// Conversation to continue.
    pub session: Option<String>,
    /// Earlier cost of that conversation, in millionths of a dollar. Agents report the sum.
    pub cost_before: u64,
    /// Acquit's own tools: a program and its arguments.
    pub tools: Option<Vec<String>>,
    /// Tools that its definition allows. `None` for all.
    pub allowed: Option<Vec<Tool>>,
}

/// Whether a stage changes the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It changes the repository.
    Writes,
    /// Read-only: the agent's changes are moved aside.
    Looks,
}

impl Settings {
    /// Creates the settings for a turn.
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
