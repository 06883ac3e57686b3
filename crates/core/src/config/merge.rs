//! Merge settings of a project.

use serde::{Deserialize, Serialize};

/// Settings of the merge queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// Maximum number of candidates to test together.
    pub batch: u32,
    /// How a forge merges the commits of a pull request.
    #[serde(default)]
    pub method: Method,
    /// Who merges.
    #[serde(default)]
    pub by: By,
}

/// How a forge merges the commits of a pull request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Squash them into one commit.
    #[default]
    Squash,
    /// Create a merge commit.
    Merge,
    /// Rebase them onto the base branch.
    Rebase,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&str, Self); 3] =
        [("squash", Self::Squash), ("merge", Self::Merge), ("rebase", Self::Rebase)];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Squash => "squash",
            Self::Merge => "merge",
            Self::Rebase => "rebase",
        }
    }
}

/// Who merges the candidates in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The forge of the repository if there is one, else acquit.
    #[default]
    Forge,
    /// acquit, into the branch of the user's repository.
    Local,
}

impl By {
    /// All variants with their names.
    pub const ALL: [(&str, Self); 2] = [("forge", Self::Forge), ("local", Self::Local)];
}

impl Merge {
    /// Maximum batch size. A failing batch is bisected, so a larger one costs more than it saves.
    pub const MOST: u32 = 64;
}

impl Default for Merge {
    /// With eight candidates, three bisections find the failing one.
    fn default() -> Self {
        Self { batch: 8, method: Method::default(), by: By::default() }
    }
}
