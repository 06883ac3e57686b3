//! Waiting for the provider of a model: how long, and at which hours to go on.

use serde::{Deserialize, Serialize};

use crate::schedule::Hours;
use crate::time::Span;

/// What is done while the model's provider accepts no work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// Whether a usage limit is waited for.
    pub usage: Patience,
    /// The longest wait for a usage limit; for what takes longer a person is asked.
    pub longest: Span,
    /// How long after the moment that the provider named: clocks differ, and everybody comes back at once.
    pub slack: Span,
    /// The hours of the day in which a leg that waited goes on; `None` for all of them.
    pub hours: Option<Hours>,
    /// The time zone of the hours by its IANA name; `None` for the machine's own.
    pub zone: Option<String>,
}

/// Whether to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Patience {
    /// Until it is over.
    #[default]
    Wait,
    /// Not at all: a person is asked at once.
    Ask,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            usage: Patience::Wait,
            // Weekly limits exist; whoever wants to wait for those says so.
            longest: Span::mins(24 * 60),
            slack: Span::mins(1),
            hours: None,
            zone: None,
        }
    }
}
