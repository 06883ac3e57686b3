//! A variable of templates with several values, which a workflow tries one after another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A variable with values to try one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variation {
    /// The template variable that carries the value.
    pub variable: String,
    /// The values, in order, each once.
    pub values: Vec<String>,
    /// The one to begin with; the order goes round from there.
    pub first: usize,
    /// What to look for, by value: the variable `<variable>_guidance`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guidance: BTreeMap<String, String>,
}

impl Variation {
    /// The variable that carries the guidance.
    pub fn guidance_variable(&self) -> String {
        format!("{}_guidance", self.variable)
    }
}
