//! `check = "dilution"`: no test, and no setting that judges the work, is weaker than before.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dilution {}

impl Dilution {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        Self {}
    }
}
