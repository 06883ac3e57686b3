//! What a project says about merging.

use serde::{Deserialize, Serialize};

/// How the merge queue works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// How many candidates are tested together at most.
    pub batch: u32,
    /// What a forge makes of a request's commits.
    #[serde(default)]
    pub method: Method,
    /// Who merges.
    #[serde(default)]
    pub by: By,
}

/// What a forge makes of the commits of a request that it merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// One commit.
    #[default]
    Squash,
    /// A merge of them.
    Merge,
    /// The same commits, on the base branch.
    Rebase,
}

impl Method {
    /// The words for them.
    pub const ALL: [(&str, Self); 3] =
        [("squash", Self::Squash), ("merge", Self::Merge), ("rebase", Self::Rebase)];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Squash => "squash",
            Self::Merge => "merge",
            Self::Rebase => "rebase",
        }
    }
}

/// Who merges what stands in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The forge of the repository, where there is one; else acquit.
    #[default]
    Forge,
    /// acquit, into the branch of the user's repository.
    Local,
}

impl By {
    /// The words for them.
    pub const ALL: [(&str, Self); 2] = [("forge", Self::Forge), ("local", Self::Local)];
}

impl Merge {
    /// The largest batch: a failing one is halved until the culprit is found, so a larger one costs more than it saves.
    pub const MOST: u32 = 64;
}

impl Default for Merge {
    /// Three halvings find a culprit among eight.
    fn default() -> Self {
        Self { batch: 8, method: Method::default(), by: By::default() }
    }
}
