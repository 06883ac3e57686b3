//! `check = "dilution"`: no test, and no setting that judges the work, is weaker than before.

mod permit;
pub(crate) mod rules;

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::toml_reader::{Table, did_you_mean, quoted};

pub use permit::{BadPermit, Permit, Permits, Promise};
pub use rules::RULES;

/// Settings of this check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dilution {
    /// What is allowed: rules, each alone or with the paths in which it does not hold, `suppressed:src/generated/**`.
    pub allow: Vec<String>,
}

impl Kind for Dilution {
    const WORD: &'static str = "dilution";
    const DEMAND: &'static str = "no test or check may be weaker than before";
    const CLAIM: &'static str = "no test or setting is weaker than before";
    const PER_TASK: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        runs_nothing(table);
        let source = table.source;
        let mut allow = Vec::new();
        for word in table.strings("allow").unwrap_or_default() {
            match word.value.parse::<Permit>() {
                Ok(_) => allow.push(word.value),
                Err(BadPermit::Rule { word: rule, .. }) => {
                    let names = RULES.iter().map(|(name, _)| *name).chain(["all"]);
                    let hint = did_you_mean(&rule, "there are the rules", names);
                    source.report(word.place, format!("unknown rule {}", quoted(&rule)), hint);
                }
                Err(error @ BadPermit::Glob { .. }) => {
                    let hint = "a rule, a colon and a pattern: \"suppressed:src/generated/**\"".to_owned();
                    source.report(word.place, format!("failed to {error}"), Some(hint));
                }
            }
        }
        Some(Self { allow })
    }

    fn built_in() -> Option<(&'static str, Self)> {
        Some(("test", Self::default()))
    }
}
