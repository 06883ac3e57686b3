//! Removes extended attributes and access control lists from the tree. Git does not track them, so what one stage's
//! agent writes there would reach the next stage in files that otherwise match the commit.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{llistxattr, llistxattr_query, lremovexattr};
use rustix::io::Errno;

use super::snapshot::{Snapshot, paths};

/// Attributes that programs can write without privileges. An overlay keeps its own markers there too: by replacing a
/// directory, an agent could hide from the next stage what setup created in it.
const WRITTEN_BY_PROGRAMS: [&[u8]; 2] = [b"user.", b"system.posix_acl_"];

/// Strips these attributes from a directory and from every path listed in it. Returns whether there were any.
pub(super) fn strip(root: &Path, listed: &Snapshot) -> std::io::Result<bool> {
    let mut found = strip_one(root)?;
    for path in paths(&listed.rows) {
        found |= strip_one(&root.join(OsStr::from_bytes(path)))?;
    }
    Ok(found)
}

fn strip_one(path: &Path) -> Result<bool, Errno> {
    let length = match llistxattr_query(path) {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOENT) => return Ok(false),
        Ok(length) => length,
        Err(errno) => return Err(errno),
    };
    let mut names = vec![0_u8; length];
    let length = llistxattr(path, &mut names[..])?;
    let mut found = false;
    let names = names[..length]
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    for name in
        names.filter(|name| WRITTEN_BY_PROGRAMS.iter().any(|front| name.to_bytes().starts_with(front)))
    {
        match lremovexattr(path, name) {
            Ok(()) => found = true,
            Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Skip;
    use super::*;

    #[test]
    fn nothing_of_them_is_left_on_files_folders_and_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "text").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
        let set = |path: &str| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(root.join(path), "user.left", b"secret", flags)
        };
        if set("") == Err(Errno::OPNOTSUPP) {
            // This file system has no extended attributes, so there is nothing to strip.
            return;
        }
        for path in ["a", "a/b", "a/b/file"] {
            set(path).unwrap();
        }
        let listed = Snapshot::take(root, Skip::Nothing).unwrap();
        assert!(strip(root, &listed).unwrap());
        for path in ["", "a", "a/b", "a/b/file"] {
            assert_eq!(llistxattr_query(root.join(path)), Ok(0), "{path}");
        }
        assert!(!strip(root, &listed).unwrap(), "there is nothing more");
        assert_eq!(std::fs::read(root.join("a/b/file")).unwrap(), b"text");
    }
}
