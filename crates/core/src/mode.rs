//! Modes: the kinds of work of an agent at a stage.

use serde::{Deserialize, Serialize};

/// A kind of agent work, with its own instructions and its own kind of result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Think first and write a plan; change nothing.
    Plan,
    /// Write the change.
    Implement,
    /// Judge the change.
    Review,
    /// Find the cause of a problem.
    Investigate,
    /// Decide on a structure.
    Design,
    /// Fix what a gate rejected.
    Fix,
    /// Resolve conflicts between two changes.
    Resolve,
}

impl Mode {
    /// All modes with their names in workflows.
    pub const ALL: [(&str, Self); 7] = [
        ("plan", Self::Plan),
        ("implement", Self::Implement),
        ("review", Self::Review),
        ("investigate", Self::Investigate),
        ("design", Self::Design),
        ("fix", Self::Fix),
        ("resolve", Self::Resolve),
    ];

    /// Returns the outcome that means success, for modes whose success shows in the repository or the output.
    pub fn success(self) -> Option<&'static str> {
        match self {
            Self::Plan => Some("plan_complete"),
            Self::Implement => Some("pr_ready"),
            Self::Fix => Some("fixed"),
            Self::Resolve => Some("resolved"),
            Self::Review | Self::Investigate | Self::Design => None,
        }
    }

    /// Returns whether the mode is meant to change the repository. Changes of other modes are put aside.
    pub fn writes(self) -> bool {
        match self {
            Self::Implement | Self::Fix | Self::Resolve => true,
            Self::Plan | Self::Review | Self::Investigate | Self::Design => false,
        }
    }
}
