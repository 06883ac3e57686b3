//! Where finished work goes: the forge, and what a request there has.

use serde::{Deserialize, Serialize};

use crate::template::Template;

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

/// What a request has. `None` leaves it to whoever is asked next: the stage, then `[forge]`, then the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publishing {
    /// Labels that it gets beside those that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Who is asked to review: names of users, on GitHub also teams as `org/team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<String>>,
    /// Whom it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Vec<String>>,
    /// Whether it is a draft. One that is there becomes one or stops being one when this changes between two stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// Whether the forge is told to merge it by itself as soon as its own rules allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
    /// Whether it is merged as one commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<bool>,
    /// What becomes of work that no request can be made of, because there is no token for the forge or no branch to merge into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// Its title, a template; `{{ headline }}` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Template>,
}

/// What becomes of work that no request can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// A person is asked to mend what is missing.
    Ask,
    /// It ends on its branch of the repository, and a notice says why.
    Branch,
}

impl Otherwise {
    /// The words for them.
    pub const ALL: [(&str, Self); 2] = [("ask", Self::Ask), ("branch", Self::Branch)];
}

impl Publishing {
    /// These, and where they are silent those.
    #[must_use]
    pub fn over(&self, under: &Self) -> Self {
        let list = |mine: &Option<Vec<String>>, theirs: &Option<Vec<String>>| mine.clone().or(theirs.clone());
        Self {
            labels: list(&self.labels, &under.labels),
            reviewers: list(&self.reviewers, &under.reviewers),
            assignees: list(&self.assignees, &under.assignees),
            draft: self.draft.or(under.draft),
            auto_merge: self.auto_merge.or(under.auto_merge),
            squash: self.squash.or(under.squash),
            otherwise: self.otherwise.or(under.otherwise),
            title: self.title.clone().or_else(|| under.title.clone()),
        }
    }
}
