//! The committed files in a checkout that no agent and no gate writes to. Gates and setup see it below their own
//! writes.
//!
//! ```text
//! <dir>/checked/work    the tree, with a repository that we write
//! <dir>/checked/index   its index
//! <dir>/checked/at      its commit, written when the checkout is complete
//! ```
//!
//! Programs see it as the lower directory of an overlay. So it stays as git wrote it, and switching to another commit
//! costs only the difference.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::agent::{Role, config, write_repository};
use super::copied::Copied;
use super::modules::Tree;
use super::snapshot::{Skip, Snapshot, paths};
use super::{Error, LockedWorkspace, attributes, files};
use crate::git::CommitId;
use crate::layers::Layer;

impl LockedWorkspace {
    /// Checks out a commit such that every file that differs from what `layer` was made of is newer than that layer.
    pub(crate) fn checked_over(&self, commit: &CommitId, layer: Option<&Layer>) -> Result<PathBuf, Error> {
        let at = self.dir.join("checked/at");
        let made = layer.and_then(|layer| layer.made().ok());
        let written = std::fs::metadata(&at).and_then(|meta| meta.modified()).ok();
        if let (Some(made), Some(written)) = (made, written)
            && written <= made
        {
            files::remove(&at)?;
        }
        self.checked(commit)
    }

    /// Returns the tree of a commit.
    pub(crate) fn checked(&self, commit: &CommitId) -> Result<PathBuf, Error> {
        let dir = self.dir.join("checked");
        let (tree, index, at) = (dir.join("work"), dir.join("index"), dir.join("at"));
        let known = files::read(&at, files::SMALL)?;
        if known.as_deref() == Some(commit.as_str().as_bytes()) {
            return Ok(tree);
        }
        let start_empty = || {
            files::remove(&dir)?;
            std::fs::create_dir_all(&tree).map_err(|e| Error::io("create", &tree, e))
        };
        if known.is_some() {
            files::remove(&at)?;
            files::remove(&tree.join(".git"))?;
        } else {
            // A process was killed while switching commits, so the content matches no commit.
            start_empty()?;
        }
        let copied = self.copy_committed(commit, &tree, &index);
        if copied == Copied::Some {
            start_empty()?;
        }
        if copied != Copied::All {
            self.call("read-tree")
                .index(&index)
                .work_tree(&tree)
                .args(["--reset", "-u", commit.as_str()])
                .run()
                .map_err(Error::git("check out what is to be judged"))?;
        }
        self.fill_submodules(commit.as_str(), &tree, Tree::Ours)?;
        let git = tree.join(".git");
        let config = config(self.format, &Role::Agent(&self.agent));
        write_repository(&git, &format!("{commit}\n"), &config, &self.borrowed_objects(), &self.shallow)?;
        std::fs::copy(&index, git.join("index")).map_err(|e| Error::io("create", &git, e))?;
        self.fill_lfs(commit.as_str(), &tree, &git.join("index"))?;
        files::write(&at, commit.as_str().as_bytes())?;
        Ok(tree)
    }

    /// Returns a text that identifies the files of a commit at the given paths. It is equal for equal files.
    pub(crate) fn files_at(&self, commit: &CommitId, paths: &[&str]) -> Result<String, Error> {
        if paths.is_empty() {
            return Ok(String::new());
        }
        let output = self
            .call("ls-tree")
            .args(["-z", "--full-tree", commit.as_str(), "--"])
            .args(paths)
            .run()
            .map_err(Error::git("read the lock files of a commit"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Git also lists the content of a directory if it was asked for the directory and for a file in it.
        let is_asked_for = |row: &&str| {
            let (facts, path) = row.split_once('\t').unwrap_or_default();
            facts.contains(" blob ") && paths.contains(&path)
        };
        Ok(text.split('\0').filter(is_asked_for).collect::<Vec<&str>>().join("\n"))
    }

    /// Returns the entries of a commit's top directory, each with its object id. Commits with the same entries have the
    /// same files.
    pub(crate) fn top_of(&self, commit: &CommitId) -> Result<Vec<String>, Error> {
        let output = self
            .call("ls-tree")
            .args(["-z", "--full-tree", commit.as_str()])
            .run()
            .map_err(Error::git("read the tree of a commit"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split('\0').filter(|row| !row.is_empty()).map(str::to_owned).collect())
    }

    /// Removes from the upper directory of a layer over the tree of `commit` everything that is not new: tracked files,
    /// the repository, whiteouts. Also removes pipes and sockets, and clears the set-uid bits of what stays.
    pub(crate) fn keep_new_files(&self, commit: &CommitId, layer: &Path) -> Result<(), Error> {
        let output = self
            .call("ls-tree")
            .args(["-r", "-z", "--full-tree", "--name-only", commit.as_str()])
            .run()
            .map_err(Error::git("list the files of a commit"))?;
        let tracked: HashSet<&[u8]> =
            output.stdout.split(|b| *b == 0).filter(|path| !path.is_empty()).collect();
        files::remove(&layer.join(".git"))?;
        let found = Snapshot::take(layer, Skip::Nothing).map_err(|e| Error::io("read", layer, e))?;
        for path in paths(&found.rows).filter(|path| tracked.contains(path)) {
            files::remove(&layer.join(std::ffi::OsStr::from_bytes(path)))?;
        }
        // In a submodule, everything it contains itself is tracked.
        let checked = self.dir.join("checked/work");
        let some = checked.join(".gitmodules").symlink_metadata().is_ok();
        let modules = if some { self.submodule_paths(commit.as_str())? } else { Vec::new() };
        for path in paths(&found.rows).map(|path| Path::new(std::ffi::OsStr::from_bytes(path))) {
            let known = || checked.join(path).symlink_metadata().is_ok_and(|meta| !meta.is_dir());
            if modules.iter().any(|module| path.starts_with(module)) && known() {
                files::remove(&layer.join(path))?;
            }
        }
        for (path, _) in found.odd.iter().filter(|(path, _)| !layer.join(path).is_symlink()) {
            files::remove(&layer.join(path))?;
        }
        Ok(())
    }

    /// Assigns the tree to `owner`, which is one stage with its grants. Removes what another owner left outside of
    /// commits: ignored files, pipes, sockets, extended attributes. The agent's repository is already new, unless it
    /// was not touched.
    pub fn give_to(&self, owner: &str) -> Result<(), Error> {
        let file = self.dir.join("owner");
        let before = files::read(&file, files::SMALL)?;
        if before.as_deref() == Some(owner.as_bytes()) {
            return Ok(());
        }
        let mut state = self.known()?;
        let stripped = before.is_some() && self.strip_attributes()?;
        if state.facts.uncommitted {
            self.remove_uncommitted()?;
            // This removed what setup left in the tree, too.
            files::remove(&self.dir.join("setup"))?;
        }
        if state.facts.uncommitted || stripped {
            if let Some(tree) = self.look_at_tree()? {
                state.saw_tree(tree.settle(&self.dir));
            }
            state.facts.uncommitted = false;
            self.store(&mut state)?;
        }
        files::write(&file, owner.as_bytes())
    }

    fn strip_attributes(&self) -> Result<bool, Error> {
        let Some(listed) = self.look_at_tree()? else { return Ok(false) };
        attributes::strip(&self.tree(), &listed)
            .map_err(|e| Error::io("take attributes from", &self.tree(), e))
    }

    /// Removes files of the tree that are in no commit.
    pub(crate) fn remove_uncommitted(&self) -> Result<(), Error> {
        self.keep_tracked_files()?;
        self.fill_submodules(self.known()?.facts.head.as_str(), &self.tree(), Tree::Agents).map(drop)
    }

    fn keep_tracked_files(&self) -> Result<(), Error> {
        let output =
            self.call("ls-files").args(["-z"]).run().map_err(Error::git("list the tracked files"))?;
        let mut tracked: HashSet<&[u8]> = HashSet::new();
        for path in output.stdout.split(|b| *b == 0).filter(|path| !path.is_empty()) {
            tracked.insert(path);
            for (at, _) in path.iter().enumerate().filter(|(_, b)| **b == b'/') {
                tracked.insert(&path[..at]);
            }
        }
        let Some(tree) = self.look_at_tree()? else { return Ok(()) };
        for path in paths(&tree.rows).filter(|path| !tracked.contains(path)) {
            files::remove(&self.tree().join(std::ffi::OsStr::from_bytes(path)))?;
        }
        Ok(())
    }
}
