//! Merges a pull request through its forge: the call that does it once, and the reasons why it may not.
//!
//! The call names the commit that the pull request's branch must be at, so the forge merges what was proven. The forge
//! itself ensures that a pull request is merged only once. After an ambiguous answer, the status of the pull request is
//! read.

use acquit_core::config::Method;

use serde_json::Value;

use super::feedback::text;
use super::{Error, Forge};
use crate::git::CommitId;

/// What to merge, and how.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Number of the pull request.
    pub number: u64,
    /// Commit that its branch must be at.
    pub commit: &'a str,
    /// Merge method.
    pub method: Method,
    /// First line of the commit that the forge creates, if it creates one.
    pub title: &'a str,
    /// Rest of the message.
    pub message: &'a str,
}

/// A merged pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Number.
    pub number: u64,
    /// Address of its page.
    pub url: String,
    /// Commit that its branch was at.
    pub head: String,
    /// Resulting commit in the base branch.
    pub commit: String,
}

/// Answer of a forge to a merge call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Merged, as this commit of the base branch.
    Merged(String),
    /// The branch is at another commit than the named one.
    Moved,
    /// The pull request no longer applies to its base branch.
    Behind(String),
    /// Not yet: the forge waits for something that is running.
    NotYet(String),
    /// Something is missing that only people can provide.
    Missing(String),
}

/// Operations for merging, in addition to [`Forge`].
pub trait Merging {
    /// Returns the commit in the base branch, if the pull request is merged.
    fn merged_as(&self, number: u64) -> Result<Option<String>, Error>;

    /// Returns the pull requests from our branch `branch` that are merged into `base`.
    fn merged(&self, branch: &str, base: &str) -> Result<Vec<Past>, Error>;

    /// Merges a pull request, if it is at the named commit.
    fn merge(&self, order: &Order<'_>) -> Result<Answer, Error>;
}

/// Returns the first of these fields that is set, if it is a commit id. It goes into the store, into messages and to
/// git.
pub(super) fn commit(value: &Value, pointers: &[&str]) -> Option<String> {
    let found = pointers.iter().map(|pointer| text(value, pointer)).find(|commit| !commit.is_empty())?;
    found.parse::<CommitId>().ok().map(|commit| commit.to_string())
}

/// Merges a pull request exactly once. Call it again after any interruption.
pub fn merge(forge: &dyn Forge, order: &Order<'_>) -> Result<Answer, Error> {
    match forge.merge(order) {
        // It may be merged despite the error.
        Err(error) if error.is_ambiguous() => match forge.merged_as(order.number)? {
            Some(commit) => Ok(Answer::Merged(commit)),
            None => Err(error),
        },
        answer => answer,
    }
}
