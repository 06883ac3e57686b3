//! How long to wait for the model's provider, and when to continue.

use serde::{Deserialize, Serialize};

use crate::schedule::Hours;
use crate::time::Span;

/// What to do while the model's provider accepts no work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// Whether to wait for a usage limit to reset.
    pub usage: Patience,
    /// Maximum wait for a usage limit. For longer waits, a person is asked.
    pub longest: Span,
    /// Extra delay after the time that the provider names: clocks differ, and all clients come back at once.
    pub slack: Span,
    /// Hours of the day in which a waiting leg continues; `None` means any.
    pub hours: Option<Hours>,
    /// IANA name of the time zone of the hours; `None` uses the machine's.
    pub zone: Option<String>,
}

/// Whether to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Patience {
    /// Wait until the limit resets.
    #[default]
    Wait,
    /// Ask a person at once.
    Ask,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            usage: Patience::Wait,
            // Weekly limits exist; users who want to wait for those can configure it.
            longest: Span::mins(24 * 60),
            slack: Span::mins(1),
            hours: None,
            zone: None,
        }
    }
}
