//! What a project says about merging.

use serde::{Deserialize, Serialize};

/// How the merge queue works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// How many candidates are tested together at most.
    pub batch: u32,
}

impl Merge {
    /// The largest batch: a failing one is halved until the culprit is found, so a larger one costs more than it saves.
    pub const MOST: u32 = 64;
}

impl Default for Merge {
    /// Three halvings find a culprit among eight.
    fn default() -> Self {
        Self { batch: 8 }
    }
}
