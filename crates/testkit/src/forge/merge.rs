//! Merges like real forges: with git, in the project's own repository, once, and only if nothing prevents it.

use super::state::{Call, Pull, State};
use crate::repo;

/// A requirement of a project for merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An approval.
    Review,
    /// Successful checks or pipeline.
    Checks,
}

/// The obstacle to a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// It is merged or closed.
    NotOpen,
    /// Its branch is at another commit than the caller expects.
    Head,
    /// It is a draft.
    Draft,
    /// It has conflicts.
    Conflict,
    /// It is not approved.
    Review,
    /// Its checks are running or failed.
    Checks,
}

/// Returns what prevents a merge, for a caller who saw the branch at `sha`.
pub(super) fn against(call: &Call<'_>, state: &State, pull: &Pull, sha: Option<&str>) -> Option<Against> {
    let wants =
        |rule: Rule| state.rules.iter().any(|(project, known)| *project == pull.project && *known == rule);
    let head = call.shared.commit(&pull.source, &pull.head);
    if pull.state != "open" {
        return Some(Against::NotOpen);
    }
    if sha.is_some_and(|sha| Some(sha) != head.as_deref()) {
        return Some(Against::Head);
    }
    if pull.draft {
        return Some(Against::Draft);
    }
    let Some((base, head)) = sides(call, pull) else { return Some(Against::NotOpen) };
    let bare = call.shared.repository(&pull.project);
    if !repo::git_succeeds(&bare, &["merge-tree", "--write-tree", &base, &head]) {
        return Some(Against::Conflict);
    }
    if wants(Rule::Review) && !pull.approved {
        return Some(Against::Review);
    }
    (wants(Rule::Checks) && pull.pipeline.as_deref() != Some("success")).then_some(Against::Checks)
}

/// How to merge a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Squash into one commit.
    Squashed,
    /// Create a merge commit.
    Joined,
}

/// Merges with this message.
pub(super) fn merge(call: &Call<'_>, pull: &mut Pull, shape: Shape, message: &str) -> String {
    let (base, head) = sides(call, pull).expect("both branches are there");
    let bare = call.shared.repository(&pull.project);
    let tree = repo::git(&bare, &["merge-tree", "--write-tree", &base, &head]);
    let mut args = vec!["commit-tree", &tree, "-m", message, "-p", &base];
    if shape == Shape::Joined {
        args.extend(["-p", &head]);
    }
    let commit = repo::git(&bare, &args);
    repo::git(&bare, &["update-ref", &format!("refs/heads/{}", pull.base), &commit, &base]);
    pull.state = "merged".to_owned();
    pull.merged_head = Some(head);
    pull.merged_as = Some(commit.clone());
    commit
}

/// Returns the commits of both branches. The objects of a fork are in the project too.
fn sides(call: &Call<'_>, pull: &Pull) -> Option<(String, String)> {
    let base = call.shared.commit(&pull.project, &pull.base)?;
    let head = call.shared.commit(&pull.source, &pull.head)?;
    if pull.source != pull.project {
        let (to, from) = (call.shared.repository(&pull.project), call.shared.repository(&pull.source));
        let name = format!("refs/heads/{}", pull.head);
        repo::git(&to, &["fetch", "--quiet", &from.to_string_lossy(), &name]);
    }
    Some((base, head))
}
