//! Bringing finished work into the user's repository, as a branch and nothing else.
//!
//! Objects arrive by a fetch, then one transaction of refs moves the branch if it is where we left it. The user's
//! checkout, index, HEAD, configuration and every other ref stay as they are.

use super::state::State;
use super::{Error, Locked};
use crate::git::{CommitId, Source, is_ref_component, is_ref_name};

impl Locked {
    /// Makes `commit` the user's branch `branch`, and brings all saved attempts along. Doing it again changes nothing.
    pub fn publish(&self, source: &Source, branch: &str, commit: &CommitId) -> Result<(), Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { role: "the name of a branch", name: branch.to_owned() });
        }
        let mut state = self.known()?;
        let name = format!("refs/heads/{branch}");
        let found = self.look_up(source, &name)?;
        let old = found.iter().find(|(r, _)| *r == name).map(|(_, id)| id.clone());
        if old.as_deref() == Some(commit.as_str()) {
            self.remember_published(&mut state, branch, commit)?;
            return self.bring(source, &found, None);
        }
        if let Some(at) =
            source.checked_out_at(&self.git, &name).map_err(Error::git("look at the user's checkouts"))?
        {
            return Err(Error::CheckedOut { branch: branch.to_owned(), at });
        }
        if let Some(old) = &old
            && !state.facts.published.iter().any(|(b, c)| b == branch && c.as_str() == old)
        {
            return Err(Error::Moved { branch: branch.to_owned(), found: old.clone() });
        }
        // Remembered before it happens: after a crash in between, the branch is recognised as ours.
        self.remember_published(&mut state, branch, commit)?;
        self.bring(source, &found, Some((&name, commit, old.as_deref())))
    }

    /// Takes a commit for one that was brought to the user's branch before, by another workspace of the same task.
    pub fn remember_own(&self, branch: &str, commit: &CommitId) -> Result<(), Error> {
        self.remember_published(&mut self.known()?, branch, commit)
    }

    /// Brings the current head and all saved attempts into the user's repository below `refs/acquit/attempts/<store>/`, for a
    /// task that ends without a branch.
    pub fn keep_in_source(&self, source: &Source, name: &str) -> Result<(), Error> {
        if !is_ref_component(name) {
            return Err(Error::BadName { role: "the name of an attempt", name: name.to_owned() });
        }
        self.keep_commit(name, &self.known()?.facts.head)?;
        let found = self.look_up(source, &self.attempt_refs())?;
        self.bring(source, &found, None)
    }

    /// The attempts saved in this workspace: ref and commit.
    pub fn attempts(&self) -> Result<Vec<(String, CommitId)>, Error> {
        let refs = self.attempt_refs();
        let folder = self.git_dir().join(&refs);
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_ref_component(name))
            .map(|name| format!("{refs}/{name}"))
            .collect();
        names.sort_unstable();
        let mut attempts = Vec::new();
        for name in names {
            if let Some(commit) = self.get_ref(&name)? {
                attempts.push((name, commit));
            }
        }
        Ok(attempts)
    }

    /// Fetches the branch and the attempts that are not there yet, and moves the branch if it is where it was.
    fn bring(
        &self,
        source: &Source,
        found: &[(String, String)],
        branch: Option<(&str, &CommitId, Option<&str>)>,
    ) -> Result<(), Error> {
        let mut refspecs = Vec::new();
        for (name, commit) in self.attempts()? {
            let there = |name: &str| found.iter().find(|(r, _)| r == name).map(|(_, id)| id.as_str());
            match there(&name) {
                Some(id) if id == commit.as_str() => {}
                None => refspecs.push(format!("{name}:{name}")),
                // An earlier attempt has this name already and keeps it.
                Some(_) => {
                    let other = format!("{name}-{}", commit.short());
                    if there(&other).is_none() {
                        refspecs.push(format!("{name}:{other}"));
                    }
                }
            }
        }
        for (name, commit) in self.history()? {
            if !found.iter().any(|(r, id)| *r == name && id == commit.as_str()) {
                refspecs.push(format!("+{name}:{name}"));
            }
        }
        let doing = "publish to the repository";
        if let Some((_, commit, _)) = branch {
            self.set_ref("refs/acquit/publish", commit)?;
            refspecs.push(format!("+refs/acquit/publish:{}", incoming(commit)));
        }
        if !refspecs.is_empty() {
            source
                .call(&self.git, "fetch")
                .allowing_local_transport()
                .set("fetch.fsckObjects=true")
                .args([
                    "--quiet",
                    "--no-tags",
                    "--no-write-fetch-head",
                    "--no-auto-maintenance",
                    "--no-prune",
                ])
                .args(["--no-recurse-submodules", "--no-show-forced-updates", "--no-write-commit-graph"])
                // Named here, because the user's configuration could name another for this very folder.
                .args(["--upload-pack", "git-upload-pack"])
                .arg(self.git_dir())
                .args(&refspecs)
                .run()
                .map_err(Error::git(doing))?;
        }
        let Some((name, commit, old)) = branch else { return Ok(()) };
        let zero = "0".repeat(commit.as_str().len());
        let old = old.unwrap_or(&zero);
        let input = format!("update {name} {commit} {old}\ndelete {}\n", incoming(commit));
        let update = source.call(&self.git, "update-ref").args(["--stdin", "--no-deref"]).input(input);
        update.run().map(drop).map_err(Error::git(doing))
    }

    /// The user's refs of interest, with what they point to.
    fn look_up(&self, source: &Source, name: &str) -> Result<Vec<(String, String)>, Error> {
        let output = source
            .call(&self.git, "for-each-ref")
            .args(["--format=%(objectname) %(refname)", name, &self.attempt_refs()])
            .args(self.history()?.into_iter().map(|(name, _)| name))
            .run()
            .map_err(Error::git("look at the user's branches"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .lines()
            .filter_map(|l| l.split_once(' '))
            .map(|(id, r)| (r.to_owned(), id.to_owned()))
            .collect())
    }

    /// Knows from elsewhere that `branch` is at `commit` by our own doing.
    pub fn remember(&self, branch: &str, commit: &CommitId) -> Result<(), Error> {
        self.remember_published(&mut self.known()?, branch, commit)
    }

    fn remember_published(&self, state: &mut State, branch: &str, commit: &CommitId) -> Result<(), Error> {
        let entry = (branch.to_owned(), commit.clone());
        if state.facts.published.contains(&entry) {
            return Ok(());
        }
        state.facts.published.push(entry);
        self.store(state)
    }

    pub(super) fn known(&self) -> Result<State, Error> {
        self.load()?.ok_or_else(|| Error::NotPrepared { path: self.dir.clone() })
    }
}

/// The ref that holds a commit between its arrival and the moving of its branch. Each has its own, because tasks of one
/// repository are published side by side.
pub(super) fn incoming(commit: &CommitId) -> String {
    format!("refs/acquit/incoming/{commit}")
}
