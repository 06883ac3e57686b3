//! Commands as configuration and workflows name them: a line for a shell, or a program with its arguments.

use serde::{Deserialize, Serialize};

/// What a gate, a setup step or an agent runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for `sh -c`. Written by the project's owner; nothing is ever substituted into it.
    Shell(String),
    /// A program and its arguments, started directly.
    Program(Vec<String>),
}

impl Command {
    /// The program that is started, if it is not the shell's to say.
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
