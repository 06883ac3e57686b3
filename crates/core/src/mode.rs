//! Modes: the kinds of turn that an agent takes at a stage.

use serde::{Deserialize, Serialize};

/// The kinds of turn, each with its own instructions and its own idea of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Think first, write a plan, change nothing.
    Plan,
    /// Write the change.
    Implement,
    /// Judge the change.
    Review,
    /// Find out what is wrong.
    Investigate,
    /// Decide on a structure.
    Design,
    /// Mend what a gate rejected.
    Fix,
    /// Bring two changes together.
    Resolve,
}

impl Mode {
    /// All of them, with the names by which workflows call them.
    pub const ALL: [(&str, Self); 7] = [
        ("plan", Self::Plan),
        ("implement", Self::Implement),
        ("review", Self::Review),
        ("investigate", Self::Investigate),
        ("design", Self::Design),
        ("fix", Self::Fix),
        ("resolve", Self::Resolve),
    ];

    /// The outcome by which the mode says that its work is there, where that can be seen in the repository or the output.
    pub fn success(self) -> Option<&'static str> {
        match self {
            Self::Plan => Some("plan_complete"),
            Self::Implement => Some("pr_ready"),
            Self::Fix => Some("fixed"),
            Self::Resolve => Some("resolved"),
            Self::Review | Self::Investigate | Self::Design => None,
        }
    }

    /// Whether the turn is meant to change the repository. What the others leave in the tree is put aside.
    pub fn writes(self) -> bool {
        match self {
            Self::Implement | Self::Fix | Self::Resolve => true,
            Self::Plan | Self::Review | Self::Investigate | Self::Design => false,
        }
    }
}
