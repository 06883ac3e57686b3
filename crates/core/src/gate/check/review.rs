//! `check = "review"`: every finding of the latest review points into the change, and none is critical.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::ids::Name;
use crate::toml_reader::Table;

/// Default outcome of a review that sends work back.
const SENT_BACK: &str = "changes_requested";

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Outcome of the stage if there is a critical finding, whatever its agent chose.
    pub outcome: Name,
}

impl Kind for Review {
    const WORD: &'static str = "review";
    const DEMAND: &'static str = "the findings must point into the change";
    const CLAIM: &'static str = "no critical finding in its review";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        runs_nothing(table);
        let outcome = table.name("outcome").map(|name| name.value);
        Some(Self { outcome: outcome.unwrap_or_else(|| Name::literal(SENT_BACK)) })
    }

    fn sets_outcome(&self) -> Option<&Name> {
        Some(&self.outcome)
    }
}
