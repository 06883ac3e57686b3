//! Secrets: where each comes from. The values never come near this crate's types.

use serde::{Deserialize, Serialize};

use crate::command::Command;

/// Where a secret's value is found, each time that it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A variable of acquit's own environment.
    Env(String),
    /// A file; its text without the end of the last line. Begins with `/` or `~/`.
    File(String),
    /// What a command prints, such as that of a password manager; without the end of the last line.
    Command(Command),
}
