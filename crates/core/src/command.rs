//! Commands in configuration and workflows: a shell command, or a program with arguments.

use serde::{Deserialize, Serialize};

/// A command of a gate, setup or agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A command for `sh -c`. The project's owner wrote it; nothing is ever substituted into it.
    Shell(String),
    /// A program and its arguments, started without a shell.
    Program(Vec<String>),
}

impl Command {
    /// Returns the program to start; `None` for a shell command.
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::Shell(_) => None,
            Self::Program(words) => words.first().map(String::as_str),
        }
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Program(words) => f.write_str(&words.join(" ")),
        }
    }
}
