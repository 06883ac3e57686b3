//! `check = "secrets"`: no secret in any line that the change's commits add, also where a later one takes it out again.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::config::toml::Table;
use crate::gate::Paths;

/// Settings of this check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    /// Files in which nothing is a secret: `allow = ["testdata/keys/**"]`.
    pub allow: Paths,
}

impl Secrets {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        Self { allow: table.paths("allow").unwrap_or_default() }
    }
}
