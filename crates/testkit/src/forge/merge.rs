//! Merging, as the real ones do it: by git, in the project's own repository, once, and only if nothing stands against it.

use super::state::{Call, Pull, State};
use crate::repo;

/// What a project demands of a request before it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// That somebody has approved it.
    Review,
    /// That its checks, or its pipeline, have succeeded.
    Checks,
}

/// What stands against a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// It is merged or closed.
    NotOpen,
    /// Its branch is at another commit than the caller says.
    Head,
    /// It is a draft.
    Draft,
    /// Both sides changed the same.
    Conflict,
    /// Nobody has approved it.
    Review,
    /// Its checks are not over, or are red.
    Checks,
}

/// What stands against merging a request, for a caller who saw its branch at `sha`.
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

/// What a merge makes of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One commit.
    Squashed,
    /// A merge of both branches.
    Joined,
}

/// Merges it, with this message.
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

/// Where both branches are. The objects of a fork are in the project too.
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
