//! Publishes finished work to the user's repository, as a branch and nothing else.
//!
//! Objects are copied first. Then one ref transaction moves the branch if it is where we left it. The user's checkout,
//! index, HEAD, configuration and all other refs stay as they are.

use super::state::State;
use super::transfer::Check;
use super::{Error, LockedWorkspace};
use crate::git::{CommitId, Source, is_ref_component, is_ref_name};

impl LockedWorkspace {
    /// Points the user's branch `branch` at `commit` and copies all saved attempts. Idempotent.
    pub fn publish(&self, source: &Source, branch: &str, commit: &CommitId) -> Result<(), Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { role: "the name of a branch", name: branch.to_owned() });
        }
        let mut state = self.known()?;
        let name = format!("refs/heads/{branch}");
        let found = self.look_up(source, Some(&name))?;
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
        // Record it first: after a crash in between, the branch is recognized as ours.
        self.remember_published(&mut state, branch, commit)?;
        self.bring(source, &found, Some((&name, commit, old.as_deref())))
    }

    /// Records that another workspace of the same task published a commit to the user's branch.
    pub fn remember_own(&self, branch: &str, commit: &CommitId) -> Result<(), Error> {
        self.remember_published(&mut self.known()?, branch, commit)
    }

    /// Copies the current head and all saved attempts to `refs/acquit/attempts/<store>/` of the user's repository, for
    /// a task that ends without a branch.
    pub fn keep_in_source(&self, source: &Source, name: &str) -> Result<(), Error> {
        if !is_ref_component(name) {
            return Err(Error::BadName { role: "the name of an attempt", name: name.to_owned() });
        }
        self.keep_commit(name, &self.known()?.facts.head)?;
        let found = self.look_up(source, None)?;
        self.bring(source, &found, None)
    }

    /// Returns the attempts saved in this workspace, as ref and commit.
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

    /// In one transaction, adds the missing attempts and moves the branch if it is still where it was.
    fn bring(
        &self,
        source: &Source,
        found: &[(String, String)],
        branch: Option<(&str, &CommitId, Option<&str>)>,
    ) -> Result<(), Error> {
        let doing = "publish to the repository";
        let (mut tips, mut input) = (Vec::new(), String::new());
        for (name, commit) in self.attempts()? {
            let zero = zeros(&commit);
            let there = |name: &str| found.iter().find(|(r, _)| r == name).map(|(_, id)| id.as_str());
            let name = match there(&name) {
                Some(id) if id == commit.as_str() => continue,
                None => name,
                // An attempt of another task, or an earlier one, has this name and keeps it.
                Some(_) => match other_name(&name, &commit) {
                    other if there(&other).is_none() => other,
                    _ => continue,
                },
            };
            input.push_str(&format!("update {name} {commit} {zero}\n"));
            tips.push(commit);
        }
        for (name, commit) in self.history()? {
            if !found.iter().any(|(r, id)| *r == name && id == commit.as_str()) {
                input.push_str(&format!("update {name} {commit}\n"));
                tips.push(commit);
            }
        }
        if let Some((name, commit, old)) = branch {
            let zero = zeros(commit);
            input.push_str(&format!("update {name} {commit} {}\n", old.unwrap_or(&zero)));
            tips.push(commit.clone());
        }
        if tips.is_empty() {
            return Ok(());
        }
        let tips: Vec<&CommitId> = tips.iter().collect();
        let copied = self.copy_to(source, &tips, &[&self.known()?.facts.origin], Check::Strict, doing)?;
        input.push_str(&copied.after);
        source.clear_stale_locks(input.lines().filter_map(|line| line.split(' ').nth(1)));
        source
            .call(&self.git, "update-ref")
            // A log of a branch that only acquit moves would be one more file per task. An existing log is continued.
            .set("core.logAllRefUpdates=false")
            .args(["--stdin", "--no-deref"])
            .input(input)
            .run()
            .map_err(Error::git(doing))?;
        // If this fails, consolidation happens after another task.
        let _ = source.consolidate(&self.git, branch.map(|(name, ..)| name), copied.arrived);
        Ok(())
    }

    /// Looks up the user's refs that this workspace may write: `branch`, its attempts, its history. Does not read refs
    /// of other tasks, however many there are.
    pub(super) fn look_up(
        &self,
        source: &Source,
        branch: Option<&str>,
    ) -> Result<Vec<(String, String)>, Error> {
        let mut names: Vec<String> = branch.map(str::to_owned).into_iter().collect();
        for (name, commit) in self.attempts()? {
            names.push(other_name(&name, &commit));
            names.push(name);
        }
        names.extend(self.history()?.into_iter().map(|(name, _)| name));
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let output = source
            .call(&self.git, "for-each-ref")
            .arg("--format=%(objectname) %(refname)")
            .args(names)
            .run()
            .map_err(Error::git("look at the user's branches"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .lines()
            .filter_map(|l| l.split_once(' '))
            .map(|(id, r)| (r.to_owned(), id.to_owned()))
            .collect())
    }

    /// Records that acquit itself moved `branch` to `commit`, as known from elsewhere.
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

/// Returns the name for an attempt in the user's repository if its own name is taken.
fn other_name(name: &str, commit: &CommitId) -> String {
    format!("{name}-{}", commit.short())
}

/// Returns the id that git prints for a ref that does not exist.
fn zeros(commit: &CommitId) -> String {
    "0".repeat(commit.as_str().len())
}
