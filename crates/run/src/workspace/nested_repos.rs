//! Repositories inside the tree: submodules that the agent filled, and others that it created.
//!
//! Git inspects a submodule by running itself in it, with the configuration that the agent wrote. So acquit never runs
//! git in the tree while there is a nested `.git`, except in ignored directories, which git does not enter.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::snapshot::Snapshot;
use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

/// The nested repositories of a tree by kind.
#[derive(Default)]
struct Inside {
    /// Directories that are submodules in the index.
    submodules: Vec<PathBuf>,
    /// All others.
    strangers: Vec<PathBuf>,
}

impl LockedWorkspace {
    /// Moves the `.git` of nested repositories away, so that their files are saved as files and not as a pointer to
    /// commits that exist nowhere else. Moves submodules as a whole. Keeps repositories in ignored directories, because
    /// they are caches.
    pub(super) fn keep_repositories(&self, leg: &str, tree: &Snapshot) -> Result<Vec<PathBuf>, Error> {
        let inside = self.inside(tree)?;
        let mut kept = self.keep_strangers(leg, &inside)?;
        for folder in &inside.submodules {
            let at = self.tree().join(folder);
            kept.push(files::move_aside(&at, &self.kept_dir(), &format!("{leg}-submodule"))?);
            std::fs::create_dir(&at).map_err(|e| Error::io("create", &at, e))?;
        }
        Ok(kept)
    }

    /// Runs `work` while the tree has no nested repositories. Submodules stay for the gates that follow, at the commits
    /// that `tip` records. Their `.git` is moved away in the meantime; if we die, it remains among the kept files.
    pub(super) fn without_repositories<T>(
        &self,
        leg: &str,
        tree: &Snapshot,
        tip: &CommitId,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Vec<PathBuf>), Error> {
        let inside = self.inside(tree)?;
        let kept = self.keep_strangers(leg, &inside)?;
        let mut hidden = Vec::new();
        for folder in &inside.submodules {
            let git = self.tree().join(folder).join(".git");
            let aside = files::move_aside(&git, &self.kept_dir(), &format!("{leg}-submodule-git"))?;
            hidden.push((git, aside));
        }
        let done = self.take_over(&inside.submodules, tip).and_then(|()| work());
        for (git, aside) in hidden {
            std::fs::rename(&aside, &git).map_err(|e| Error::io("put back", &git, e))?;
        }
        // Empty again, unless something else is kept in it. Then removal fails and it stays.
        let _ = std::fs::remove_dir(self.kept_dir());
        Ok((done?, kept))
    }

    fn keep_strangers(&self, leg: &str, inside: &Inside) -> Result<Vec<PathBuf>, Error> {
        let mut kept = Vec::new();
        for folder in &inside.strangers {
            let git = self.tree().join(folder).join(".git");
            // An outer repository that was moved as a whole took this one along.
            if git.symlink_metadata().is_ok() {
                kept.push(files::move_aside(&git, &self.kept_dir(), &format!("{leg}-git"))?);
            }
        }
        Ok(kept)
    }

    /// Writes the commits that `tip` records for these submodules into the index. Without their `.git`, git cannot read
    /// them from the submodules.
    fn take_over(&self, submodules: &[PathBuf], tip: &CommitId) -> Result<(), Error> {
        if submodules.is_empty() {
            return Ok(());
        }
        let doing = "read the submodules";
        let call =
            self.call("ls-tree").set("core.quotePath=false").args(["-z", "--full-tree", tip.as_str(), "--"]);
        let listed = call.args(submodules).run().map_err(Error::git(doing))?.stdout;
        let rows: Vec<&[u8]> = listed.split(|b| *b == 0).filter(|row| row.starts_with(b"160000 ")).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut input = rows.join(&0);
        input.push(0);
        self.call("update-index")
            .args(["-z", "--index-info"])
            .input(input)
            .run()
            .map_err(Error::git(doing))?;
        Ok(())
    }

    fn inside(&self, tree: &Snapshot) -> Result<Inside, Error> {
        let mut inside = Inside::default();
        if tree.repositories.is_empty() {
            return Ok(inside);
        }
        let folders: Vec<&Path> = tree.repositories.iter().filter_map(|git| git.parent()).collect();
        let tracked = self
            .call("ls-files")
            .args(["--stage", "-z"])
            .run()
            .map_err(Error::git("list the tracked files"))?
            .stdout;
        let known: Vec<&[u8]> = tracked
            .split(|b| *b == 0)
            .filter(|row| row.starts_with(b"160000 "))
            .filter_map(|row| row.splitn(2, |b| *b == b'\t').nth(1))
            .collect();
        let ignored = self.ask_about(&folders, "check-ignore", &["-z", "--stdin"])?;
        for folder in folders {
            if ignored.iter().any(|i| folder.starts_with(i)) {
                continue;
            }
            let is_known = known.contains(&folder.as_os_str().as_bytes());
            let list = if is_known { &mut inside.submodules } else { &mut inside.strangers };
            list.push(folder.to_owned());
        }
        // A repository inside a submodule belongs to the submodule.
        let Inside { submodules, strangers } = &mut inside;
        strangers.retain(|folder| !submodules.iter().any(|module| folder.starts_with(module)));
        Ok(inside)
    }

    fn ask_about(&self, paths: &[&Path], verb: &str, args: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        let doing = "tell ignored folders from others";
        let output = self.call_in_tree(verb).args(args).input(input).run_any().map_err(Error::git(doing))?;
        // Code 1 means that none of the paths matched.
        if !matches!(output.code, Some(0 | 1)) {
            return Err(Error::by_agent(doing)(output.failed(verb)));
        }
        let found = output.stdout.split(|b| *b == 0).filter(|p| !p.is_empty());
        Ok(found.map(|p| PathBuf::from(OsString::from_vec(p.to_vec()))).collect())
    }
}
