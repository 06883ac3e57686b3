//! `check = "review"`: the findings of the review that was just made. Every one points into the change, and none is critical.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;
use crate::ids::Name;

/// The outcome by which a review sends work back, if a gate does not say.
const SENT_BACK: &str = "changes_requested";

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// How the stage ends if there is a critical finding, whatever its agent chose.
    pub outcome: Name,
}

impl Review {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        let outcome = table.name("outcome").map(|name| name.value);
        Self { outcome: outcome.unwrap_or_else(|| Name::literal(SENT_BACK)) }
    }
}
