//! `check = "commits"`: the change's commits are as the project wants them.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {}

impl Commits {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        Self {}
    }
}
