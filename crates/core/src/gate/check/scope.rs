//! `check = "scope"`: the change is small, and stays where it may.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {}

impl Scope {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        Self {}
    }
}
