//! What a project says about the commits that acquit makes.

use serde::{Deserialize, Serialize};

/// How delivered commits are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The form of the subject.
    pub style: CommitStyle,
    /// The whole message but its trailers, if not the usual one; see [`crate::delivery::message::VARIABLES`].
    pub template: Option<String>,
    /// The trailer that names the task; empty for none.
    pub trailer: String,
    /// Who they are committed by.
    #[serde(default)]
    pub committer: Committer,
    /// Who is named as having helped, as `Name <address>`.
    pub co_authors: Vec<String>,
    /// Whether they are signed.
    pub sign: Sign,
}

/// The forms of a subject.
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
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("auto", Self::Auto), ("plain", Self::Plain), ("conventional", Self::Conventional)];
}

/// Whom a delivered commit names as its committer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Committer {
    /// acquit, so that the log shows who made the commit.
    #[default]
    Acquit,
    /// The user, who is its author too.
    Author,
}

impl Committer {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("acquit", Self::Acquit), ("author", Self::Author)];
}

/// When commits are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// If the user's own git signs in this repository.
    Auto,
    /// Never.
    Never,
}

impl Sign {
    /// The words for them in the configuration.
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
