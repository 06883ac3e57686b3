//! One request for a task: found or made, brought up to date, and never made twice.

use acquit_core::delivery::{LIMIT, Marker, Whose};

use super::error::Error;
use super::{Armed, Forge, PullRequest, Readiness, Wanted, Which};

/// What is to be published.
#[derive(Clone, Debug)]
pub struct Publication<'a> {
    /// What the request is to be.
    pub wanted: Wanted<'a>,
    /// acquit's part of its text.
    pub part: &'a str,
    /// The task's mark.
    pub marker: &'a Marker,
    /// The commit that its branch is at.
    pub commit: &'a str,
    /// Whether it becomes a draft, or stops being one.
    pub turn: Turn,
    /// Whether people are asked: once, when the request is new.
    pub invite: Invite,
    /// Whether the forge is told to merge by itself.
    pub auto_merge: bool,
}

/// Whether a request that is there becomes a draft, or stops being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It becomes this.
    To(Readiness),
    /// It stays what people made of it.
    Not,
}

/// Whether reviewers and assignees are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invite {
    /// They are.
    Now,
    /// They were.
    Before,
}

/// A request that is as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The request.
    pub request: PullRequest,
    /// Whether it was made just now.
    pub made: Made,
    /// What the forge did not accept, and what else people should know.
    pub remarks: Vec<String>,
}

/// How a request came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// It was made.
    New,
    /// It was there.
    Found,
}

/// Makes or updates the request. To be called again after whatever interrupted it.
pub fn publish(forge: &dyn Forge, publication: &Publication<'_>) -> Result<Published, Error> {
    let Publication { wanted, marker, .. } = publication;
    let (request, made) = match own(forge, publication)? {
        Some(request) => (request, Made::Found),
        None => match forge.create(wanted, publication.part) {
            Ok(request) => (request, Made::New),
            // It may be there in spite of the answer; or somebody else was faster.
            Err(error) if error.is_ambiguous() || is_duplicate(&error) => match own(forge, publication)? {
                Some(request) => (request, Made::Found),
                None => return Err(error),
            },
            Err(error) => return Err(error),
        },
    };
    let body = marker.replace(&request.body, publication.part);
    // What people wrote has pushed it over the limit: then acquit's part alone is shortened to nothing new.
    let body = if body.chars().count() > LIMIT { request.body.clone() } else { body };
    forge.update(&request, wanted, &body)?;
    let mut remarks = Vec::new();
    if let Turn::To(readiness) = publication.turn {
        remarks.extend(forge.turn(&request, readiness)?);
    }
    if publication.invite == Invite::Now {
        remarks.extend(forge.invite(&request, wanted)?);
    }
    if publication.auto_merge
        && let Armed::No(why) = forge.auto_merge(&request, wanted, publication.commit)?
    {
        remarks.push(format!("the forge does not merge it by itself: {why}"));
    }
    Ok(Published { request, made, remarks })
}

/// The task's own request, if there is one: that with its mark, or one that a person made for its branch.
fn own(forge: &dyn Forge, publication: &Publication<'_>) -> Result<Option<PullRequest>, Error> {
    let found = forge.find(publication.wanted.branch, Which::Open)?;
    let whose = |request: &PullRequest| publication.marker.whose(&request.body);
    if let Some(request) = found.iter().find(|request| whose(request) == Whose::Ours) {
        return Ok(Some(request.clone()));
    }
    if let Some(request) = found.iter().find(|request| whose(request) == Whose::Others) {
        return Err(Error::Denied {
            doing: "use the branch",
            words: format!(
                "the request {} has the same branch and belongs to another task; close it, or let this task work under \
                 another branch_prefix",
                request.url
            ),
        });
    }
    Ok(found.into_iter().next())
}

/// Whether the forge says that there is such a request already.
fn is_duplicate(error: &Error) -> bool {
    match error {
        Error::Refused { status: 409, .. } => true,
        Error::Refused { status: 422, words, .. } => words.to_lowercase().contains("already exists"),
        Error::Refused { .. }
        | Error::Busy { .. }
        | Error::Away { .. }
        | Error::Denied { .. }
        | Error::Nonsense { .. }
        | Error::Setting(_) => false,
    }
}
