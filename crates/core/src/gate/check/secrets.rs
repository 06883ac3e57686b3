//! `check = "secrets"`: the change's commits add no secret, not even one that a later commit removes.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::gate::Paths;
use crate::toml_reader::Table;

/// Settings of this check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    /// Files that are not checked: `allow = ["testdata/keys/**"]`.
    pub allow: Paths,
}

impl Kind for Secrets {
    const WORD: &'static str = "secrets";
    const DEMAND: &'static str = "no secret may be in it";
    const CLAIM: &'static str = "no secret is in its commits";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        runs_nothing(table);
        Some(Self { allow: table.paths("allow").unwrap_or_default() })
    }

    fn built_in() -> Option<(&'static str, Self)> {
        Some(("security", Self::default()))
    }
}
