//! How agents start acquit's own tools.

use std::collections::BTreeMap;

/// A tool server that the agent starts and talks to with MCP over standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Program.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Variables in addition to the agent's environment. Nothing secret: some agents get them as arguments.
    pub env: BTreeMap<String, String>,
}

impl Server {
    /// Name of the server for agents. It becomes part of the tool names.
    pub const NAME: &'static str = "acquit";
}
