//! Where finished work goes: the forge, and what a request there has.

use serde::{Deserialize, Serialize};

use crate::publishing::Publishing;

/// `[forge]`: what cannot be told from the remote's address, and what every request has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forge {
    /// Which; `None` to tell it from the host.
    pub kind: Option<Kind>,
    /// The host of its pages, where it is not that of the remote (an alias of SSH).
    pub host: Option<String>,
    /// The address of its API, where it is not the usual one of the host.
    pub api: Option<String>,
    /// The project that requests are made in, `group/name`, where it is not that of the remote.
    pub project: Option<String>,
    /// The remote that requests are made against; `None` for `upstream` where `origin` is a fork of it, else `origin`.
    pub remote: Option<String>,
    /// The remote that branches are pushed to, where that is a fork; `None` for the same, or for `origin` if that is one.
    pub push_remote: Option<String>,
    /// The secret of `[secrets]` that is its token.
    pub token: Option<String>,
    /// The hosts that `token` is for: those that the same file names, and those of the user's own configuration.
    pub token_hosts: Vec<String>,
    /// The hosts that the user's own configuration names. Tokens of the user's environment may go there.
    pub own_hosts: Vec<String>,
    /// A file of certificates to trust, of a forge with an authority of its own.
    pub ca: Option<String>,
    /// The proxy that leads to it. Never taken from the environment.
    pub proxy: Option<String>,
    /// Whether requests say what the work cost; `None` for yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<bool>,
    /// What every request has, unless its stage says otherwise.
    pub request: Publishing,
}

/// The forges that acquit speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// GitHub, also Enterprise.
    GitHub,
    /// GitLab, also self-hosted.
    GitLab,
    /// None: work ends on a local branch, whatever the remote is.
    None,
}

impl Kind {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 3] =
        [("github", Self::GitHub), ("gitlab", Self::GitLab), ("none", Self::None)];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::None => "no forge",
        }
    }
}
