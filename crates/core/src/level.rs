//! How much something matters, from details to what a person should see.

use serde::{Deserialize, Serialize};

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For those who look closely.
    Debug,
    /// What one expects.
    Info,
    /// Not what one hoped for.
    Warning,
    /// Something a person should see.
    Error,
}
