//! Severity of events.

use serde::{Deserialize, Serialize};

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Expected.
    Info,
    /// Not as hoped, but not an error.
    Warning,
    /// Something a person should see.
    Error,
}
