//! Settings for the commits that acquit makes.

use serde::{Deserialize, Serialize};

/// How to write delivered commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Style of the subject.
    pub style: CommitStyle,
    /// Template of the message without trailers, if not the default; see [`crate::delivery::message::VARIABLES`].
    pub template: Option<String>,
    /// Trailer that names the task; empty for none.
    pub trailer: String,
    /// Committer of the commits.
    #[serde(default)]
    pub committer: Committer,
    /// Co-authors, as `Name <address>`.
    pub co_authors: Vec<String>,
    /// Whether to sign them.
    pub sign: Sign,
}

/// The style of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitStyle {
    /// Like the newest commits of the base.
    Auto,
    /// The title.
    Plain,
    /// `feat: …`.
    Conventional,
}

impl CommitStyle {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("auto", Self::Auto), ("plain", Self::Plain), ("conventional", Self::Conventional)];
}

/// The committer of a delivered commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Committer {
    /// acquit, so that the log shows who made the commit.
    #[default]
    Acquit,
    /// The user, who is also its author.
    Author,
}

impl Committer {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("acquit", Self::Acquit), ("author", Self::Author)];
}

/// When to sign commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// If the user's own git signs in this repository.
    Auto,
    /// Never.
    Never,
}

impl Sign {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("auto", Self::Auto), ("never", Self::Never)];
}

impl Default for Commit {
    fn default() -> Self {
        Self {
            style: CommitStyle::Auto,
            template: None,
            trailer: "Task".to_owned(),
            committer: Committer::default(),
            co_authors: Vec::new(),
            sign: Sign::Auto,
        }
    }
}
