//! Merging a request by its forge: the call that does it once, and what stands against it.
//!
//! The call names the commit that the request's branch must be at, so that what is merged is what was proven. A request is merged once,
//! by the forge's own rule; after an answer that leaves open whether it was, the request itself is asked.

use acquit_core::config::Method;

use serde_json::Value;

use super::feedback::text;
use super::{Error, Forge};
use crate::git::CommitId;

/// What is to be merged, and how.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The request's number.
    pub number: u64,
    /// The commit that its branch must be at.
    pub commit: &'a str,
    /// What becomes of its commits.
    pub method: Method,
    /// The first line of the commit that the forge makes, where it makes one.
    pub title: &'a str,
    /// The rest of it.
    pub message: &'a str,
}

/// A request that is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// The commit that its branch was at.
    pub head: String,
    /// What it is in the base branch.
    pub commit: String,
}

/// What a forge answers when it is told to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is merged, as this commit of its base branch.
    Merged(String),
    /// Its branch is at another commit than the one that was named.
    Moved,
    /// It does not fit onto its base branch any more.
    Behind(String),
    /// Not yet: something runs that the forge waits for.
    NotYet(String),
    /// Something is missing that only people can give.
    Missing(String),
}

/// What merging needs of a forge, beside [`Forge`].
pub trait Merging {
    /// What a request is in its base branch, if it is merged.
    fn merged_as(&self, number: u64) -> Result<Option<String>, Error>;

    /// The requests from a branch of ours that are merged into this one.
    fn merged(&self, branch: &str, base: &str) -> Result<Vec<Past>, Error>;

    /// Merges it, if it is at the named commit.
    fn merge(&self, order: &Order<'_>) -> Result<Answer, Error>;
}

/// The first of these that names a commit, if one does: it goes into the store, into messages and to git.
pub(super) fn commit(value: &Value, pointers: &[&str]) -> Option<String> {
    let found = pointers.iter().map(|pointer| text(value, pointer)).find(|commit| !commit.is_empty())?;
    found.parse::<CommitId>().ok().map(|commit| commit.to_string())
}

/// Merges a request once. To be called again after whatever interrupted it.
pub fn merge(forge: &dyn Forge, order: &Order<'_>) -> Result<Answer, Error> {
    match forge.merge(order) {
        // It may be merged in spite of the answer.
        Err(error) if error.is_ambiguous() => match forge.merged_as(order.number)? {
            Some(commit) => Ok(Answer::Merged(commit)),
            None => Err(error),
        },
        answer => answer,
    }
}
