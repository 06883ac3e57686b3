//! A template variable with several values, which a workflow tries in sequence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A variable with values to try in sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variation {
    /// Name of the template variable.
    pub variable: String,
    /// Values in order, without duplicates.
    pub values: Vec<String>,
    /// Index of the first value to try; the order wraps around.
    pub first: usize,
    /// What to look for, by value: the variable `<variable>_guidance`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guidance: BTreeMap<String, String>,
}

impl Variation {
    /// Returns the name of the variable with the guidance.
    pub fn guidance_variable(&self) -> String {
        format!("{}_guidance", self.variable)
    }
}
