//! Restores files that an agent touched and that git considers unchanged.
//!
//! Git compares files after converting them: line endings, `$Id$`, encodings. It overlooks files of Git LFS, files in
//! submodules, and hard links between files. So a tree without changes can still differ from a checkout, and no diff,
//! gate or review shows how. The agent of the next stage would run it. Afterwards, every tracked file, and every file
//! of a submodule, is as a checkout writes it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::modules::Tree;
use super::snapshot::{Snapshot, is_folder, split};
use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

/// Files of a tree with rules for conversion.
const ATTRIBUTES: &[u8] = b".gitattributes";

const DOING: &str = "write the files again that it touched";

/// Files that differ from an earlier listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    /// Paths that exist, below real directories.
    there: Vec<Vec<u8>>,
    /// Paths that no longer exist.
    gone: Vec<Vec<u8>>,
}

fn differing(before: &[u8], now: &[u8]) -> Touched {
    let mut known: HashMap<&[u8], &[u8]> = split(before).collect();
    let mut touched = Touched::default();
    for (path, meta) in split(now) {
        let old = known.remove(path);
        if old != Some(meta) && !(is_folder(meta) && old.is_none_or(is_folder)) {
            touched.there.push(path.to_vec());
        }
    }
    let gone = known.into_iter().filter(|(_, meta)| !is_folder(meta));
    touched.gone = gone.map(|(path, _)| path.to_vec()).collect();
    touched
}

fn has_attributes(rows: &[u8]) -> bool {
    let is_list = |path: &[u8]| {
        path.strip_suffix(ATTRIBUTES).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
    };
    split(rows).any(|(path, _)| is_list(path))
}

impl LockedWorkspace {
    /// Returns the files that were touched since the listing `before`, if git may consider a touched file unchanged.
    pub(super) fn touched_since(&self, before: &[u8], now: &Snapshot) -> Touched {
        let overlooks = now.linked
            || has_attributes(before)
            || has_attributes(&now.rows)
            || self.has_lfs()
            || self.has_submodules();
        if overlooks { differing(before, &now.rows) } else { Touched::default() }
    }

    /// Writes those of these files again that `commit` has, which the tree and the index of the harness show.
    pub(super) fn write_again(&self, touched: &Touched, commit: &CommitId) -> Result<(), Error> {
        if *touched == Touched::default() {
            return Ok(());
        }
        let all = || touched.there.iter().chain(&touched.gone);
        let listed = self.call("ls-files").args(["-z"]).run().map_err(Error::git(DOING))?.stdout;
        let tracked: HashSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let mut input = Vec::new();
        let is_tracked = |path: &&Vec<u8>| tracked.contains(path.as_slice());
        for path in touched.there.iter().filter(is_tracked) {
            // Git does not write a file that its index considers up to date.
            files::remove(&self.tree().join(OsStr::from_bytes(path)))?;
        }
        for path in all().filter(is_tracked) {
            input.extend_from_slice(path);
            input.push(0);
        }
        if !input.is_empty() {
            let call = self.call_in_tree("checkout-index").args(["--force", "--index", "-z", "--stdin"]);
            call.input(input).run().map_err(Error::git(DOING))?;
            self.fill_lfs(commit.as_str(), &self.tree(), &self.git_dir().join("index"))?;
        }
        let modules = if self.has_submodules() { self.submodule_paths(commit.as_str())? } else { Vec::new() };
        let is_inside = |path: &Vec<u8>| {
            modules.iter().any(|module| Path::new(OsStr::from_bytes(path)).starts_with(module))
        };
        if all().any(is_inside) {
            self.fill_submodules(commit.as_str(), &self.tree(), Tree::Agents)?;
        }
        Ok(())
    }

    fn has_submodules(&self) -> bool {
        self.tree().join(".gitmodules").symlink_metadata().is_ok_and(|meta| meta.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Skip;
    use super::*;

    #[test]
    fn changed_new_and_removed_files_differ_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["changed", "removed", "same", "d/.gitattributes"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "one").unwrap();
        }
        let before = Snapshot::take(folder.path(), Skip::Nothing).unwrap().rows;
        std::fs::write(at("changed"), "other").unwrap();
        std::fs::write(at("d/new"), "one").unwrap();
        std::fs::remove_file(at("removed")).unwrap();
        let now = Snapshot::take(folder.path(), Skip::Nothing).unwrap().rows;
        let found = differing(&before, &now);
        assert_eq!(
            found,
            Touched { there: vec![b"changed".to_vec(), b"d/new".to_vec()], gone: vec![b"removed".to_vec()] }
        );
        assert_eq!(differing(&now, &now), Touched::default());
        assert!(has_attributes(&now));
        std::fs::rename(at("d/.gitattributes"), at("d/x.gitattributes")).unwrap();
        assert!(!has_attributes(&Snapshot::take(folder.path(), Skip::Nothing).unwrap().rows));
    }
}
