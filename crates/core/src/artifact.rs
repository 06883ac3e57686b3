//! What a leg leaves for people and for later legs.

use serde::{Deserialize, Serialize};

use crate::ids::Name;

/// Something a leg left behind. A later artifact with the same [`Artifact::key`] replaces an earlier one, so that
/// collecting twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Artifact {
    /// The plan that later stages follow.
    Plan {
        /// Its text, bounded.
        text: String,
    },
    /// The task's branch and where it stands.
    Branch {
        /// The branch's name.
        name: String,
        /// The commit that it points to.
        commit: String,
        /// Whether it was brought into the user's repository.
        published: bool,
    },
    /// Where the task's work was merged.
    Merged {
        /// The base branch.
        branch: String,
        /// The commit that it is there.
        commit: String,
    },
    /// The commits of a leg.
    Commits {
        /// The leg's number.
        leg: u32,
        /// Newest last: id and subject.
        commits: Vec<Commit>,
    },
    /// How much the task changed in all, against its base.
    Diff(DiffStats),
    /// A file that matched the stage's output patterns.
    File {
        /// The stage that left it.
        stage: Name,
        /// Its name within the stage's output folder.
        name: String,
        /// Where it is kept.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The report of a gate: what its command printed.
    Report {
        /// The stage whose work it judged.
        stage: Name,
        /// The gate.
        gate: Name,
        /// Whether the work stood it.
        passed: bool,
        /// Where it is kept.
        path: String,
    },
    /// What was pushed to a remote: whatever else stands on its branch there is somebody else's.
    Pushed {
        /// The remote's address, without a login.
        remote: String,
        /// The branch there.
        branch: String,
        /// The commits that it was pushed to, newest last, bounded.
        commits: Vec<String>,
    },
    /// The request at a forge.
    #[serde(rename = "request")]
    PullRequest(Requested),
}

/// A request at a forge, as it was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// Its page.
    pub url: String,
    /// Its number in the project.
    pub number: u64,
    /// The project, `group/name`.
    pub project: String,
    /// The commit that was published in it.
    pub commit: String,
    /// Whether it was last wanted as a draft, if the workflow said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// The comments whose threads were told which commit did what they wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
}

/// One commit, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The full id.
    pub id: String,
    /// The first line of its message, bounded.
    pub subject: String,
}

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStats {
    /// Files changed.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
}

impl Artifact {
    /// What makes two artifacts the same thing at two times.
    pub fn key(&self) -> String {
        match self {
            Self::Plan { .. } => "plan".to_owned(),
            Self::Branch { .. } => "branch".to_owned(),
            Self::Diff(_) => "diff".to_owned(),
            Self::Merged { .. } => "merged".to_owned(),
            Self::Commits { leg, .. } => format!("commits/{leg}"),
            Self::File { stage, name, .. } => format!("file/{stage}/{name}"),
            Self::Report { stage, gate, .. } => format!("report/{stage}/{gate}"),
            Self::Pushed { .. } => "pushed".to_owned(),
            Self::PullRequest(_) => "request".to_owned(),
        }
    }
}
