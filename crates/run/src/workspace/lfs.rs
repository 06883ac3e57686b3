//! Git LFS: replaces pointers with the files from the user's own `.git/lfs/objects`.
//!
//! Nothing is fetched and no filter runs. Git is told to treat the files as unchanged, so a pointer stays a pointer in
//! every commit. Changes that an agent makes to such a file are not part of its work. A pointer whose file is not in
//! the user's clone stays as it is.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::{self, Found};
use super::{Error, LockedWorkspace};

/// Maximum size of a pointer, from the Git LFS specification.
const LARGEST_POINTER: u64 = 1024;

const DOING: &str = "fill in the files of Git LFS";

impl LockedWorkspace {
    /// Returns whether the user's clone has files of Git LFS.
    pub(super) fn has_lfs(&self) -> bool {
        self.lfs.iter().any(|folder| folder.is_dir())
    }

    /// Fills in the LFS files of a commit or tree in `tree`, whose index is `index`.
    pub(super) fn fill_lfs(&self, of: &str, tree: &Path, index: &Path) -> Result<(), Error> {
        let Some(store) = self.lfs.iter().find(|folder| folder.is_dir()) else { return Ok(()) };
        let listed = self.call("ls-tree").args(["-r", "-l", "-z", "--full-tree", of]).run();
        let listed = listed.map_err(Error::git(DOING))?.stdout;
        let mut filled: Vec<u8> = Vec::new();
        for path in listed.split(|b| *b == 0).filter_map(small_file) {
            let Some(object) = path.to_str().and_then(|name| pointed_at(tree, name, store)) else { continue };
            replace(&tree.join(path), &object)?;
            filled.extend_from_slice(path.as_os_str().as_bytes());
            filled.push(0);
        }
        if filled.is_empty() {
            return Ok(());
        }
        let call = self.call("update-index").index(index).work_tree(tree);
        let call = call.args(["--assume-unchanged", "-z", "--stdin"]).input(filled);
        call.run().map(drop).map_err(Error::git(DOING))
    }
}

/// Returns the path of a row `<mode> blob <id> <size>\t<path>`, if the file may be a pointer.
fn small_file(row: &[u8]) -> Option<&Path> {
    let tab = row.iter().position(|b| *b == b'\t')?;
    let facts = std::str::from_utf8(&row[..tab]).ok()?;
    let mut words = facts.split_whitespace();
    let (mode, size) = (words.next()?, words.nth(2)?.parse::<u64>().ok()?);
    let is_small = mode.starts_with("100") && (1..=LARGEST_POINTER).contains(&size);
    is_small.then(|| Path::new(OsStr::from_bytes(&row[tab + 1..])))
}

/// Returns the file that the pointer at `name` refers to, if the user's clone has it.
fn pointed_at(tree: &Path, name: &str, store: &Path) -> Option<PathBuf> {
    let Ok(Found::Content(text)) = files::read_untrusted(tree, name, LARGEST_POINTER) else { return None };
    let (oid, size) = pointer(std::str::from_utf8(&text).ok()?)?;
    let object = store.join(&oid[..2]).join(&oid[2..4]).join(oid);
    fs::symlink_metadata(&object).is_ok_and(|meta| meta.is_file() && meta.len() == size).then_some(object)
}

/// Parses a pointer into the hash and the size of its file.
fn pointer(text: &str) -> Option<(&str, u64)> {
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let value = |key: &str| rest.lines().find_map(|line| line.strip_prefix(key));
    let oid = value("oid sha256:")?;
    let is_hash = oid.len() == 64 && oid.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    Some((is_hash.then_some(oid)?, value("size ")?.parse().ok()?))
}

/// Replaces a pointer with a copy of its file and keeps the mode of the pointer.
fn replace(path: &Path, object: &Path) -> Result<(), Error> {
    let copy = || {
        let mode = fs::symlink_metadata(path)?.permissions();
        fs::remove_file(path)?;
        fs::copy(object, path)?;
        fs::set_permissions(path, mode)
    };
    copy().map_err(|e| Error::io("fill in", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_a_hash_and_a_size_and_nothing_else_does() {
        let hash = "4d".repeat(32);
        let good = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 12\n");
        assert_eq!(pointer(&good), Some((hash.as_str(), 12)));
        for bad in [
            good.replace("sha256:4d", "sha256:../"),
            good.replace("size 12", "size -1"),
            good.replace("version ", ""),
            String::new(),
        ] {
            assert_eq!(pointer(&bad), None, "{bad}");
        }
    }
}
