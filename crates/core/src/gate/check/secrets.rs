//! `check = "secrets"`: no secret in any line that the change's commits add, also where a later one takes it out again.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {}

impl Secrets {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        Self {}
    }
}
