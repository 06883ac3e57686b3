//! `check = "dilution"`: no test, and no setting that judges the work, is weaker than before.

use serde::{Deserialize, Serialize};

use super::runs_nothing;
use crate::check::dilution::{Permit, RULES};
use crate::config::toml::{Table, did_you_mean};

/// Settings of this check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dilution {
    /// What is allowed: rules, each alone or with the paths in which it does not hold, `suppressed:src/generated/**`.
    pub allow: Vec<String>,
}

impl Dilution {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Self {
        runs_nothing(table);
        let source = table.source;
        let mut allow = Vec::new();
        for word in table.strings("allow").unwrap_or_default() {
            match word.value.parse::<Permit>() {
                Ok(_) => allow.push(word.value),
                Err(error) => {
                    let rule = word.value.split(':').next().unwrap_or_default();
                    let names = RULES.iter().map(|(name, _)| *name).chain(["all"]);
                    let hint = did_you_mean(rule, "there are the rules", names);
                    source.report(word.place, error.to_string(), hint);
                }
            }
        }
        Self { allow }
    }
}
