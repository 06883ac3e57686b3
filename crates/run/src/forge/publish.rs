//! Creates or updates the one pull request of a task, and never creates it twice.

use acquit_core::delivery::{LIMIT, Marker, Whose};

use super::error::Error;
use super::{Armed, Forge, PullRequest, Readiness, Wanted, Which};

/// What to publish.
#[derive(Clone, Debug)]
pub struct Publication<'a> {
    /// Wanted state of the pull request.
    pub wanted: Wanted<'a>,
    /// Acquit's part of its text.
    pub part: &'a str,
    /// Marker of the task.
    pub marker: &'a Marker,
    /// Commit that its branch is at.
    pub commit: &'a str,
    /// Change of the draft state.
    pub turn: Turn,
    /// Whether to ask people: once, when the pull request is new.
    pub invite: Invite,
    /// Whether to enable auto-merge.
    pub auto_merge: bool,
}

/// Whether to change the draft state of an existing pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Set this state.
    To(Readiness),
    /// Keep what people chose.
    Not,
}

/// Whether to ask reviewers and assignees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invite {
    /// Ask now.
    Now,
    /// Already asked.
    Before,
}

/// A pull request that is up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The pull request.
    pub request: PullRequest,
    /// Whether it was just created.
    pub made: Made,
    /// Wishes that the forge did not accept, and other remarks for people.
    pub remarks: Vec<String>,
}

/// Whether the pull request was created or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Created.
    New,
    /// It existed.
    Found,
}

/// Creates or updates the pull request. Call it again after any interruption.
pub fn publish(forge: &dyn Forge, publication: &Publication<'_>) -> Result<Published, Error> {
    let Publication { wanted, marker, .. } = publication;
    let (request, made) = match own(forge, publication)? {
        Some(request) => (request, Made::Found),
        None => match forge.create(wanted, publication.part) {
            Ok(request) => (request, Made::New),
            // It may exist despite the error, or someone else was faster.
            Err(error) if error.is_ambiguous() || is_duplicate(&error) => match own(forge, publication)? {
                Some(request) => (request, Made::Found),
                None => return Err(error),
            },
            Err(error) => return Err(error),
        },
    };
    let body = marker.replace(&request.body, publication.part);
    // Text that people added exceeds the limit together with ours. Then keep the text as it is.
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

/// Returns the task's own pull request, if there is one: the one with its marker, or one that a person created for its
/// branch.
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

/// Returns whether the forge reports that such a pull request already exists.
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
