//! How acquit's own tools are started, as agents are told.

use std::collections::BTreeMap;

/// A server of tools, which the agent starts and talks to by MCP over its standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it gets beside the agent's own environment. Nothing secret: some agents are told by arguments.
    pub env: BTreeMap<String, String>,
}

impl Server {
    /// Its name towards the agents, which becomes part of the names of its tools.
    pub const NAME: &'static str = "acquit";
}
