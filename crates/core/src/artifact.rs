//! Artifacts: results of a leg for people and later legs.

use serde::{Deserialize, Serialize};

use crate::ids::Name;

/// Something a leg produced. An artifact replaces an earlier one with the same [`Artifact::key`], so that collecting
/// twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Artifact {
    /// The plan for later stages.
    Plan {
        /// Text of the plan, bounded.
        text: String,
    },
    /// The task's branch.
    Branch {
        /// Branch name.
        name: String,
        /// Commit it points to.
        commit: String,
        /// Whether it was delivered to the user's repository.
        published: bool,
    },
    /// The merge of the task's work.
    Merged {
        /// Base branch.
        branch: String,
        /// Commit of the merge.
        commit: String,
    },
    /// The commits of a leg.
    Commits {
        /// Leg number.
        leg: u32,
        /// Commits, newest last.
        commits: Vec<Commit>,
    },
    /// Total size of the task's change against its base.
    Diff(DiffStats),
    /// A file that matched the stage's output patterns.
    File {
        /// Stage that produced it.
        stage: Name,
        /// Name in the stage's output folder.
        name: String,
        /// Path where it is kept.
        path: String,
        /// Size in bytes.
        bytes: u64,
    },
    /// The output of a gate's command.
    Report {
        /// Stage whose work the gate judged.
        stage: Name,
        /// Gate name.
        gate: Name,
        /// Whether the work passed.
        passed: bool,
        /// Path where it is kept.
        path: String,
    },
    /// A push to a remote. Any other commit on that remote branch belongs to someone else.
    Pushed {
        /// Address of the remote, without credentials.
        remote: String,
        /// Branch at the remote.
        branch: String,
        /// Pushed commits, newest last, bounded.
        commits: Vec<String>,
    },
    /// The pull request.
    #[serde(rename = "request")]
    PullRequest(Requested),
}

/// A pull request, as acquit last left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// Address of its page.
    pub url: String,
    /// Number in the project.
    pub number: u64,
    /// Project, `group/name`.
    pub project: String,
    /// Published commit.
    pub commit: String,
    /// Last draft setting of the workflow, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// Comments whose threads got a reply with the commit that addressed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
}

/// A commit in short form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full commit id.
    pub id: String,
    /// First line of the message, bounded.
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
    /// Returns the key that identifies the artifact over time.
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
