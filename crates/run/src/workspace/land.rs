//! Moves the base branch of the user's repository to a commit that builds on it, together with a checkout of that
//! branch.
//!
//! The branch moves with compare-and-swap, so it moves once or not at all. A clean checkout follows afterwards. The
//! same ref transaction records under `refs/acquit/checkout/` that it must, so the next run after a crash completes it.
//! If the checkout has changes, both it and the branch stay as they are. Acquit itself holds the lock of the index
//! ([`HeldIndex`]), so a kill leaves none behind.

use std::path::{Path, PathBuf};

use super::checkout_index::HeldIndex;
use super::transfer::Check;
use super::{Error, LockedWorkspace, files};
use crate::git::{CommitId, Git, Source, is_ref_name, pending};

/// Result of moving the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The branch is at the commit.
    Moved,
    /// Someone else moved the branch in the meantime.
    Elsewhere,
}

const DOING: &str = "move the base branch";

impl LockedWorkspace {
    /// Moves `branch` from `old` to `commit`. The workspace must have `commit`, and `commit` must descend from `old`.
    pub fn land(
        &self,
        source: &Source,
        branch: &str,
        commit: &CommitId,
        old: &CommitId,
    ) -> Result<Landed, Error> {
        if !is_ref_name(branch) {
            return Err(Error::BadName { role: "the name of a branch", name: branch.to_owned() });
        }
        if !self.descends(commit, old)? {
            return Err(Error::NotDescended { base: old.clone(), tip: commit.clone() });
        }
        self.catch_up(source, branch)?;
        // The update compares this again. Check it here too, because a checkout of a branch that is elsewhere would be
        // compared with the wrong commit.
        if source.branch_known_at(&self.git, branch, old).map_err(Error::git(DOING))?.as_ref() != Some(old) {
            return Ok(Landed::Elsewhere);
        }
        let name = format!("refs/heads/{branch}");
        let checkout = source.checked_out_at(&self.git, &name).map_err(Error::git(DOING))?;
        let copied = self.copy_to(source, &[commit], &[old], Check::Strict, DOING)?;
        if let Some(at) = &checkout {
            let index = self.dir.join("landing-index");
            follows(source, &self.git, at, branch, (old, commit), &index)?;
        }
        let mut input = format!("update {name} {commit} {old}\n{}", copied.after);
        if checkout.is_some() {
            input.push_str(&format!("update {} {old}\n", pending(branch)));
        }
        let call = source.call(&self.git, "update-ref").args(["--stdin", "--no-deref"]).input(input);
        let output = call.run_any().map_err(Error::git(DOING))?;
        if output.code != Some(0) {
            let now = source.branch(&self.git, branch).map_err(Error::git(DOING))?;
            return match now {
                Some(now) if now == *old => Err(Error::git(DOING)(output.failed("update-ref"))),
                Some(_) | None => Ok(Landed::Elsewhere),
            };
        }
        self.catch_up(source, branch)?;
        let _ = source.consolidate(&self.git, None, copied.arrived);
        Ok(Landed::Moved)
    }

    /// Updates a checkout that is behind its moved branch, if there is one.
    pub fn catch_up(&self, source: &Source, branch: &str) -> Result<(), Error> {
        let pending = pending(branch);
        let found = source
            .call(&self.git, "rev-parse")
            .args(["--quiet", "--verify", &pending])
            .run_any()
            .map_err(Error::git(DOING))?;
        let Ok(old) = found.line().parse::<CommitId>() else { return Ok(()) };
        let name = format!("refs/heads/{branch}");
        let at = source.checked_out_at(&self.git, &name).map_err(Error::git(DOING))?;
        let now = source.branch(&self.git, branch).map_err(Error::git(DOING))?;
        if let (Some(at), Some(now)) = (at, now)
            && !is_at(source, &self.git, &at, &now, &self.dir.join("looked-at-index"))?
        {
            let index = HeldIndex::take(&index_of(&self.git, &at)?)?;
            let output = self
                .git
                .call("read-tree")
                .inside(&at)
                .index(index.copy())
                .args(["-m", "-u", old.as_str(), now.as_str()])
                .run_any()
                .map_err(Error::git(DOING))?;
            if output.code != Some(0) {
                return Err(Error::Dirty { branch: branch.to_owned(), at });
            }
            index.keep()?;
        }
        source.clear_stale_packed_lock();
        let drop_it = source.call(&self.git, "update-ref").args(["--no-deref", "-d", &pending]);
        drop_it.run().map(drop).map_err(Error::git(DOING))
    }
}

/// Checks that a checkout can go from `old` to `new` without touching uncommitted content, and without a filter that
/// the user's git would run and ours does not.
fn follows(
    source: &Source,
    git: &Git,
    at: &Path,
    branch: &str,
    (old, new): (&CommitId, &CommitId),
    index: &Path,
) -> Result<(), Error> {
    let dirty = || Error::Dirty { branch: branch.to_owned(), at: at.to_owned() };
    if !is_at(source, git, at, old, &index.with_file_name("looked-at-index"))? {
        return Err(dirty());
    }
    // Check before the branch moves: a process that holds the index now would keep the checkout from following.
    drop(HeldIndex::take(&index_of(git, at)?)?);
    let trial = git.call("read-tree").inside(at).args(["-m", "-u", "-n", old.as_str(), new.as_str()]);
    if trial.run_any().map_err(Error::git(DOING))?.code != Some(0) {
        return Err(dirty());
    }
    let changed = git
        .call("diff-tree")
        .inside(at)
        .args(["-r", "-z", "--name-only", "--no-renames", old.as_str(), new.as_str()])
        .run()
        .map_err(Error::git(DOING))?;
    // Read the attributes of the new commit through an index, which every git version supports.
    let attributes = git.call("read-tree").inside(at).index(index).arg(new.as_str()).run();
    let filtered = attributes.and_then(|_| {
        git.call("check-attr")
            .inside(at)
            .index(index)
            .args(["--cached", "-z", "--stdin", "filter"])
            .input(changed.stdout)
            .run()
    });
    files::remove(index)?;
    let filtered = filtered.map_err(Error::git(DOING))?;
    let text = String::from_utf8_lossy(&filtered.stdout);
    let values: Vec<&str> = text.split('\0').collect();
    let is_filtered = |row: &&[&str]| !matches!(row.get(2), None | Some(&("unspecified" | "unset" | "")));
    match values.chunks(3).find(is_filtered) {
        Some(row) => Err(Error::Filtered {
            branch: branch.to_owned(),
            at: at.to_owned(),
            path: row.first().copied().unwrap_or_default().to_owned(),
        }),
        None => Ok(()),
    }
}

/// Returns the path of the index of a checkout. A linked worktree has its own.
fn index_of(git: &Git, at: &Path) -> Result<PathBuf, Error> {
    let call = git.call("rev-parse").inside(at).args(["--path-format=absolute", "--git-path", "index"]);
    Ok(PathBuf::from(call.run().map_err(Error::git(DOING))?.line()))
}

/// Returns whether the tracked files of a checkout are exactly those of a commit.
fn is_at(source: &Source, git: &Git, at: &Path, commit: &CommitId, aside: &Path) -> Result<bool, Error> {
    let filters = source.filters(git).map_err(Error::git(DOING))?;
    // Compare with a copy of the index, so that no lock is needed.
    let copy = Copy::of(&index_of(git, at)?, aside)?;
    let refresh =
        filters.emptied(git.call("update-index")).inside(at).index(&copy.0).args(["-q", "--refresh"]);
    refresh.run_any().map_err(Error::git(DOING))?;
    for more in [&["--cached"][..], &[]] {
        let call = filters.emptied(git.call("diff-index")).inside(at).index(&copy.0);
        let call = call.args(["--quiet", "--ignore-submodules=all", "--no-ext-diff"]);
        let output = call.args(more).args([commit.as_str(), "--"]).run_any().map_err(Error::git(DOING))?;
        match output.code {
            Some(0) => {}
            Some(1) => return Ok(false),
            _ => return Err(Error::git(DOING)(output.failed("diff-index"))),
        }
    }
    Ok(true)
}

/// A copy of an index, removed on drop.
struct Copy(PathBuf);

impl Copy {
    fn of(index: &Path, at: &Path) -> Result<Self, Error> {
        files::remove(at)?;
        let copy = Self(at.to_owned());
        match std::fs::copy(index, at) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("copy", index, error))
            }
            Ok(_) | Err(_) => Ok(copy),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = files::remove(&self.0);
    }
}
