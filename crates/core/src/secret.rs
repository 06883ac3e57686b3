//! Secrets: where each comes from. Secret values never enter this crate's types.

use serde::{Deserialize, Serialize};

use crate::command::Command;

/// Where to read a secret's value each time it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A variable of acquit's environment.
    Env(String),
    /// A file, without its final newline. The path starts with `/` or `~/`.
    File(String),
    /// The output of a command, such as a password manager, without its final newline.
    Command(Command),
}
