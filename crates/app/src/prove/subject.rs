//! Finds the change to judge, its base and its head, without writing to the user's repository.

use std::path::Path;

use acquit_core::config::Config;
use acquit_run::forge;
use acquit_run::git::{CommitId, Source, Taken, Uncommitted};
use serde::Serialize;

use super::{Asked, Trusting};
use crate::app::App;
use crate::error::Error;

/// The change to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The checkout against its base, with uncommitted work.
    Checkout,
    /// A branch or commit against its base.
    Branch(String),
    /// The second against the first.
    Range(String, String),
    /// A pull request, as `#12`, `!12` or its URL. A plain `12` is one as well, unless a branch has that name.
    PullRequest(String),
    /// Staged changes.
    Staged,
    /// All uncommitted work.
    WorkingTree,
}

impl Which {
    /// Parses `main..topic`, `main...topic`, a branch name or a pull request.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if forge::number(text).is_some() {
            return Self::PullRequest(text.to_owned());
        }
        let Some((from, to)) = text.split_once("...").or_else(|| text.split_once("..")) else {
            return Self::Branch(text.to_owned());
        };
        let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        Self::Range(or_head(from), or_head(to))
    }
}

/// A change to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Description.
    pub what: String,
    /// Commit to compare with.
    #[serde(serialize_with = "as_text")]
    pub base: CommitId,
    /// Newest commit of the change. Lies in a scratch repository if work is uncommitted.
    #[serde(serialize_with = "as_text")]
    pub head: CommitId,
    /// Newest of the user's own commits in the change.
    #[serde(serialize_with = "as_text")]
    pub commit: CommitId,
    /// Git tree id of the head.
    pub tree: String,
    /// Whether it includes uncommitted work.
    pub uncommitted: bool,
    /// Changed paths; empty if there are too many.
    pub paths: Vec<String>,
    /// Files of the checkout that are not judged, and why.
    pub left_out: Vec<String>,
    /// Whether the base is part of the user's base branch.
    #[serde(skip)]
    pub own_base: bool,
}

fn as_text<S: serde::Serializer>(commit: &CommitId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(commit.as_str())
}

/// Common names of base branches.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// Finds the change, and puts uncommitted work and the commits of a pull request into `scratch`. `place` is a folder
/// for temporary files.
pub(super) fn take(
    app: &App,
    asked: &Asked,
    source: &Source,
    scratch: &Source,
    place: &Path,
) -> Result<Subject, Error> {
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
    let which = match &asked.which {
        Which::PullRequest(name) if is_commit(app, source, name)? => Which::Branch(name.clone()),
        other => other.clone(),
    };
    let (commit, onto, what) = match &which {
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
        Which::Range(from, to) if asked.base.is_some() => {
            return Err(Error::NoEffect { flag: "--base", with: format!("with the range {from}..{to}") });
        }
        Which::Range(from, to) => (named(to)?, named(from)?, format!("{from}..{to}")),
        Which::PullRequest(name) => {
            let (offer, what) = fetch(app, asked, source, scratch, place, name)?;
            let onto = match &asked.base {
                Some(base) => named(base)?,
                None => offer.base,
            };
            (offer.head, onto, what)
        }
        Which::Staged => (here()?, here()?, "what is staged".to_owned()),
        Which::WorkingTree => (here()?, here()?, "uncommitted work".to_owned()),
    };
    let base = scratch.offer(git, commit.as_str(), onto.as_str())?.base;
    let which = match &which {
        Which::Checkout | Which::WorkingTree => Some(Uncommitted::All),
        Which::Staged => Some(Uncommitted::Staged),
        Which::Branch(_) | Which::Range(..) | Which::PullRequest(_) => None,
    };
    let Taken { commit: head, left_out } = match which {
        Some(which) => source.take_uncommitted(git, scratch, &commit, which, home)?,
        None => Taken { commit: commit.clone(), left_out: Vec::new() },
    };
    let paths = scratch.paths_between(git, &base, &head)?;
    let tree = scratch.tree_of(git, &head)?;
    let own_base = match upstream(app, source, &commit) {
        Ok((tip, _)) => scratch.contains(git, &tip, &base)?,
        Err(_) => false,
    };
    let uncommitted = head != commit;
    Ok(Subject { what, base, head, commit, tree, uncommitted, paths, left_out, own_base })
}

/// Returns whether a number names a branch, or is long enough for a commit id and names one.
fn is_commit(app: &App, source: &Source, name: &str) -> Result<bool, Error> {
    const SHORTEST: usize = 7;
    let git = &app.runtime.git;
    if !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(false);
    }
    Ok(source.branch(git, name)?.is_some() || name.len() >= SHORTEST && source.base(git, Some(name)).is_ok())
}

/// Fetches a pull request into `scratch`.
fn fetch(
    app: &App,
    asked: &Asked,
    source: &Source,
    scratch: &Source,
    place: &Path,
    name: &str,
) -> Result<(acquit_run::git::Offer, String), Error> {
    let number = forge::number(name).unwrap_or_default();
    let config = forge_config(app, asked, source, place)?;
    let offered = acquit_run::external_pull_request::fetch(&app.runtime, &config, source, scratch, number)
        .map_err(|source| Error::Request { number, source })?;
    let here = &offered.seen.url;
    if name.contains("://") && !name.starts_with(here.as_str()) {
        return Err(Error::OtherRequest { what: name.to_owned(), here: here.clone() });
    }
    let what = format!("pull request {number} ({}) into {}", offered.seen.title, offered.seen.base);
    Ok((offered.offer, what))
}

/// Returns the forge settings: the project's if the user trusts it, otherwise the user's own configuration.
fn forge_config(app: &App, asked: &Asked, source: &Source, place: &Path) -> Result<Config, Error> {
    match app.files(source) {
        Ok(files) => match files.read() {
            Ok(project) => return Ok(project.config),
            Err(_) if asked.trust == Trusting::Base => {}
            Err(error) => return Err(error),
        },
        Err(Error::NotInitialised(_)) => {}
        Err(error) => return Err(error),
    }
    let folder = super::make_folder(&place.join("own"))?;
    let file = super::make_folder(&folder.join(crate::project::FOLDER))?.join("acquit.toml");
    std::fs::write(&file, "").map_err(|source| Error::File { doing: "write", path: file, source })?;
    Ok(app.files_in(&folder, &folder)?.look()?.config)
}

/// Returns the default base: the project's base, the remote's default branch, or a branch with a common name. On that
/// branch itself, returns the remote's version of it; without a remote, its newest commit.
fn upstream(app: &App, source: &Source, head: &CommitId) -> Result<(CommitId, String), Error> {
    const REMOTE: &str = "origin";
    let git = &app.runtime.git;
    // Use only a trusted configuration: a change must not choose its own base.
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
            ("12", Which::PullRequest("12".to_owned())),
            ("#12", Which::PullRequest("#12".to_owned())),
            (
                "https://git.example.org/a/b/pull/12",
                Which::PullRequest("https://git.example.org/a/b/pull/12".to_owned()),
            ),
        ] {
            assert_eq!(Which::parse(text), which, "{text}");
        }
    }
}
