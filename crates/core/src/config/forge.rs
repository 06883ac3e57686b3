//! Forge and pull request settings.

use serde::{Deserialize, Serialize};

use crate::publishing::Publishing;

/// `[forge]`: facts that the remote's address does not show, and defaults of all pull requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forge {
    /// Forge product; `None` derives it from the host.
    pub kind: Option<Kind>,
    /// Web host, if it differs from the remote's host (an SSH alias).
    pub host: Option<String>,
    /// API address, if it is not the usual one of the host.
    pub api: Option<String>,
    /// Project for pull requests, `group/name`, if it is not the remote's.
    pub project: Option<String>,
    /// Remote for pull requests; `None` uses `upstream` if `origin` is a fork of it, else `origin`.
    pub remote: Option<String>,
    /// Remote to push branches to, if it is a fork; `None` uses the same remote, or `origin` if that is the fork.
    pub push_remote: Option<String>,
    /// Name of the secret in `[secrets]` that is the token.
    pub token: Option<String>,
    /// Hosts that `token` may go to: those in the same file, and those in the user's own configuration.
    pub token_hosts: Vec<String>,
    /// Hosts in the user's own configuration. Tokens of the user's environment may go there.
    pub own_hosts: Vec<String>,
    /// File with CA certificates to trust, for a forge with its own CA.
    pub ca: Option<String>,
    /// Proxy to the forge. Never read from the environment.
    pub proxy: Option<String>,
    /// Whether pull requests show the cost of the work; `None` means yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<bool>,
    /// Defaults of all pull requests; stages can override them.
    pub request: Publishing,
}

/// The supported forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// GitHub, including Enterprise.
    GitHub,
    /// GitLab, including self-hosted.
    GitLab,
    /// No forge: work ends on a local branch, with any remote.
    None,
}

impl Kind {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("github", Self::GitHub), ("gitlab", Self::GitLab), ("none", Self::None)];

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::None => "no forge",
        }
    }
}
