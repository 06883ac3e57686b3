//! What became of a request: whether it is open, was merged, or was closed without that.
//!
//! A repository alone cannot tell: what a forge merged as one commit is in no history, and a branch that is gone may have been
//! merged or given up. So the forge is asked, by the request's number; or, for a task that was ended before its number
//! was kept, by its branch and its mark among all requests of that branch.

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

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestStatus {
    /// It waits for people, as a draft or not.
    Open,
    /// It was merged.
    Merged,
    /// It was closed without being merged.
    Closed,
}

/// Which requests are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that are open.
    Open,
    /// Those that were merged or closed too.
    All,
}

impl PullRequestStatus {
    /// GitHub calls merged requests closed, and says when they were merged.
    pub(super) fn at_github(value: &Value) -> Self {
        let merged = value.get("merged_at").is_some_and(|at| !at.is_null());
        match (text(value, "/state"), merged) {
            (_, true) => Self::Merged,
            ("closed", false) => Self::Closed,
            _ => Self::Open,
        }
    }

    /// GitLab has words for them. A request is `locked` while it is being merged.
    pub(super) fn at_gitlab(value: &Value) -> Self {
        match text(value, "/state") {
            "merged" => Self::Merged,
            "closed" => Self::Closed,
            _ => Self::Open,
        }
    }
}

/// Asks the forge of a repository what became of a task's request. `None` if the task has none there, or there is no forge.
///
/// A forge that is away, or does not show the request to this token, is an error and no answer: nothing follows from it.
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

/// The same of a request whose number is not known: the newest of the task's own.
fn by_mark(forge: &dyn Forge, task: &Task) -> Result<Option<PullRequestStatus>, Error> {
    let marker = Marker::of(&task.seed);
    let mut own = forge.find(&task.seed.branch, Which::All)?;
    own.retain(|request| marker.whose(&request.body) == Whose::Ours);
    own.sort_by_key(|request| Reverse(request.number));
    Ok(own.first().map(|request| request.standing))
}
