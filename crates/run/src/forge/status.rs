//! Pull request status: open, merged, or closed without a merge.
//!
//! The repository alone cannot tell: a squash merge at a forge is in no history, and a branch that is gone may have
//! been merged or abandoned. So the forge is asked by the number of the pull request. For a task that ended before its
//! number was recorded, it is asked by branch and marker.

use std::cmp::Reverse;

use acquit_core::config::Config;
use acquit_core::delivery::{Marker, Whose};
use acquit_core::task::Task;
use serde_json::Value;

use super::error::Error;
use super::feedback::text;
use super::{Forge, Located, of, open, token};
use crate::git::Source;
use crate::runtime::Runtime;

/// Status of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestStatus {
    /// Open, as a draft or not.
    Open,
    /// Merged.
    Merged,
    /// Closed without a merge.
    Closed,
}

/// Which pull requests to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Open ones.
    Open,
    /// All, including merged and closed ones.
    All,
}

impl PullRequestStatus {
    /// GitHub reports merged pull requests as closed, with the time of the merge.
    pub(super) fn at_github(value: &Value) -> Self {
        let merged = value.get("merged_at").is_some_and(|at| !at.is_null());
        match (text(value, "/state"), merged) {
            (_, true) => Self::Merged,
            ("closed", false) => Self::Closed,
            _ => Self::Open,
        }
    }

    /// GitLab has a state for each. A merge request is `locked` while it is being merged.
    pub(super) fn at_gitlab(value: &Value) -> Self {
        match text(value, "/state") {
            "merged" => Self::Merged,
            "closed" => Self::Closed,
            _ => Self::Open,
        }
    }
}

/// Asks the forge of a repository for the status of a task's pull request. `None` if the task has none there, or there
/// is no forge.
///
/// If the forge is down, or hides the pull request from this token, this is an error, and callers must not conclude
/// anything from it.
pub fn status(
    runtime: &Runtime,
    config: &Config,
    source: &Source,
    task: &Task,
) -> Result<Option<PullRequestStatus>, Error> {
    let settings = &config.forge;
    let place = match of(runtime, settings, source)? {
        Located::At(place) => *place,
        Located::Nowhere(_) => return Ok(None),
    };
    let token = token::find(runtime, config, &place)?;
    let forge = open(runtime, settings, &place, token.as_ref())?;
    match task.request().filter(|request| request.project == place.project) {
        Some(request) => forge.status(request.number).map(Some),
        None => by_mark(forge.as_ref(), task),
    }
}

/// Returns the status for an unknown number: that of the newest of the task's own pull requests.
fn by_mark(forge: &dyn Forge, task: &Task) -> Result<Option<PullRequestStatus>, Error> {
    let marker = Marker::of(&task.seed);
    let mut own = forge.find(&task.seed.branch, Which::All)?;
    own.retain(|request| marker.whose(&request.body) == Whose::Ours);
    own.sort_by_key(|request| Reverse(request.number));
    Ok(own.first().map(|request| request.standing))
}
