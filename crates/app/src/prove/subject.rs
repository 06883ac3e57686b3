//! Which change is judged: its base and its head, found without writing to the user's repository.

use acquit_run::git::{CommitId, Source, Taken, Uncommitted};
use serde::Serialize;

use super::Asked;
use crate::app::App;
use crate::error::Error;

/// The change that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// What is checked out has over its base, with uncommitted work.
    Checkout,
    /// What a branch or commit has over its base.
    Branch(String),
    /// What the second has over the first.
    Range(String, String),
    /// What is staged.
    Staged,
    /// All uncommitted work.
    WorkingTree,
}

impl Which {
    /// Reads `main..topic`, `main...topic` or the name of a branch.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let Some((from, to)) = text.split_once("...").or_else(|| text.split_once("..")) else {
            return Self::Branch(text.to_owned());
        };
        let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        Self::Range(or_head(from), or_head(to))
    }
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// What it is, in words.
    pub what: String,
    /// The commit that it is compared with.
    #[serde(serialize_with = "as_text")]
    pub base: CommitId,
    /// Its newest commit; one of a scratch repository if work is uncommitted.
    #[serde(serialize_with = "as_text")]
    pub head: CommitId,
    /// The newest commit of the user's own that is in it.
    #[serde(serialize_with = "as_text")]
    pub commit: CommitId,
    /// The files of the head, by the name that git has for them.
    pub tree: String,
    /// Whether uncommitted work is part of it.
    pub uncommitted: bool,
    /// The paths that it changes; none if they are too many.
    pub paths: Vec<String>,
    /// What is in the checkout and not judged, and why.
    pub left_out: Vec<String>,
    /// Whether the base is part of what the user's base branch has.
    #[serde(skip)]
    pub own_base: bool,
}

fn as_text<S: serde::Serializer>(commit: &CommitId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(commit.as_str())
}

/// Branches that others are usually compared with.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// Finds the change, and puts uncommitted work into `scratch`.
pub(super) fn take(app: &App, asked: &Asked, source: &Source, scratch: &Source) -> Result<Subject, Error> {
    let git = &app.runtime.git;
    let home = app.surroundings.user_home.as_deref();
    let named = |name: &str| -> Result<CommitId, Error> { Ok(source.base(git, Some(name))?.commit) };
    let here = || -> Result<CommitId, Error> { Ok(source.base(git, None)?.commit) };
    let usual = |head: &CommitId| -> Result<(CommitId, String), Error> {
        match &asked.base {
            Some(base) => Ok((named(base)?, base.clone())),
            None => upstream(app, source, head),
        }
    };
    let (commit, onto, what) = match &asked.which {
        Which::Checkout => {
            let head = here()?;
            let (onto, name) = usual(&head)?;
            (head, onto, format!("the checkout over {name}"))
        }
        Which::Branch(name) => {
            let head = named(name)?;
            let (onto, over) = usual(&head)?;
            (head, onto, format!("{name} over {over}"))
        }
        Which::Range(from, to) => (named(to)?, named(from)?, format!("{from}..{to}")),
        Which::Staged => (here()?, here()?, "what is staged".to_owned()),
        Which::WorkingTree => (here()?, here()?, "uncommitted work".to_owned()),
    };
    let base = source.offer(git, commit.as_str(), onto.as_str())?.base;
    let which = match &asked.which {
        Which::Checkout | Which::WorkingTree => Some(Uncommitted::All),
        Which::Staged => Some(Uncommitted::Staged),
        Which::Branch(_) | Which::Range(..) => None,
    };
    let Taken { commit: head, left_out } = match which {
        Some(which) => source.take_uncommitted(git, scratch, &commit, which, home)?,
        None => Taken { commit: commit.clone(), left_out: Vec::new() },
    };
    let paths = scratch.paths_between(git, &base, &head)?;
    let tree = scratch.tree_of(git, &head)?;
    let own_base = match upstream(app, source, &commit) {
        Ok((tip, _)) => source.contains(git, &tip, &base)?,
        Err(_) => false,
    };
    let uncommitted = head != commit;
    Ok(Subject { what, base, head, commit, tree, uncommitted, paths, left_out, own_base })
}

/// What a change is compared with if nobody says: the project's base, the remote's default branch, or a branch of the usual names. On
/// that branch itself, what the remote has of it; without a remote, its own newest commit.
fn upstream(app: &App, source: &Source, head: &CommitId) -> Result<(CommitId, String), Error> {
    const REMOTE: &str = "origin";
    let git = &app.runtime.git;
    // Only what the user trusts: a change must not choose what it is compared with.
    let configured = app.files(source).ok().and_then(|files| files.read().ok()).and_then(|it| it.config.base);
    let tracked = source.tracked_head(git, REMOTE)?;
    let current = source.base(git, None)?.branch;
    let names = configured.into_iter().chain(tracked).chain(USUAL.iter().map(|name| (*name).to_owned()));
    for name in names {
        let remote = source.tracked(git, REMOTE, &name)?;
        let local = source.branch(git, &name).ok().flatten();
        let on_it = current.as_deref() == Some(name.as_str()) && local.as_ref() == Some(head);
        let found = match (remote, local) {
            (Some(remote), _) => Some((remote, format!("{REMOTE}/{name}"))),
            (None, Some(local)) if !on_it => Some((local, name)),
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if on_it {
            break;
        }
    }
    Ok((head.clone(), "its newest commit".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_git_writes_it() {
        let range = |from: &str, to: &str| Which::Range(from.to_owned(), to.to_owned());
        for (text, which) in [
            ("main..topic", range("main", "topic")),
            ("main...topic", range("main", "topic")),
            ("main..", range("main", "HEAD")),
            ("..topic", range("HEAD", "topic")),
            ("topic", Which::Branch("topic".to_owned())),
            ("v1.2", Which::Branch("v1.2".to_owned())),
        ] {
            assert_eq!(Which::parse(text), which, "{text}");
        }
    }
}
