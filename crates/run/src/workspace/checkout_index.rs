//! Locks the index of a user's checkout with `index.lock`, as git does, while the checkout follows its branch.
//!
//! A killed git leaves its lock behind, and nothing shows whose it was. So acquit takes the lock itself: `index.lock`
//! is a hard link to a file of acquit's own, which stays locked as long as the holder lives. Git works on a copy, which
//! then replaces the index with one rename. The next holder removes the lock of a dead one. A lock of another git stays
//! and is reported.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::Error;

/// An index that is locked against other writers.
pub(super) struct HeldIndex {
    index: PathBuf,
    lock: PathBuf,
    /// Acquit's own name for the lock file.
    own: PathBuf,
    /// The copy that git works on.
    copy: PathBuf,
    file: File,
}

/// Returns the path of a file next to the index.
fn beside(index: &Path, ending: &str) -> PathBuf {
    let mut name = index.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    index.with_file_name(name)
}

/// Returns whether two paths name the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.symlink_metadata().ok().map(|file| (file.dev(), file.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Removes a file if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl HeldIndex {
    /// Takes the lock. Removes a lock that a killed acquit left; a lock of another git is an error.
    pub(super) fn take(index: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::io("lock", index, error);
        let taken = || Error::IndexLocked { lock: beside(index, ".lock") };
        let (lock, own, copy) =
            (beside(index, ".lock"), beside(index, ".acquit"), beside(index, ".acquit-new"));
        let file = loop {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
            let file = options.open(&own).map_err(failed)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Err(taken());
            }
            // Either acquit was killed after it replaced the index, so that this name is a link to the index and must
            // not be written, or the previous holder removed the file in the meantime.
            let opened = file.metadata().map_err(failed)?;
            let named = own.symlink_metadata().ok().map(|named| (named.dev(), named.ino()));
            if named != Some((opened.dev(), opened.ino())) {
                continue;
            }
            if is_same(&own, index) {
                remove(&own).map_err(failed)?;
                continue;
            }
            break file;
        };
        if is_same(&own, &lock) {
            remove(&lock).map_err(failed)?;
        }
        match fs::hard_link(&own, &lock) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Remove only our own name: the lock is not ours.
                let _ = remove(&own);
                return Err(taken());
            }
            Err(error) => return Err(failed(error)),
        }
        let held = Self { index: index.to_owned(), lock, own, copy, file };
        remove(&held.copy).map_err(failed)?;
        match fs::copy(index, &held.copy) {
            Ok(_) => Ok(held),
            // A checkout may have no index yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(held),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns the copy for git to work on.
    pub(super) fn copy(&self) -> &Path {
        &self.copy
    }

    /// Replaces the index with the copy.
    pub(super) fn keep(mut self) -> Result<(), Error> {
        let replace = |held: &mut Self| -> io::Result<()> {
            let mut new = File::open(&held.copy)?;
            held.file.set_len(0)?;
            io::copy(&mut new, &mut held.file)?;
            let mode = fs::metadata(&held.index).map_or_else(|_| new.metadata(), Ok)?.permissions();
            held.file.set_permissions(mode)?;
            held.file.sync_all()?;
            fs::rename(&held.lock, &held.index)
        };
        replace(&mut self).map_err(|error| Error::io("write", &self.index, error))
    }
}

impl Drop for HeldIndex {
    fn drop(&mut self) {
        // If this fails, the next holder removes what is left.
        if is_same(&self.own, &self.lock) {
            let _ = remove(&self.lock);
        }
        let _ = remove(&self.copy);
        let _ = remove(&self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_lock_of_ours_is_swept_and_one_of_another_git_is_told_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        fs::write(&index, "old").unwrap();
        let held = HeldIndex::take(&index).unwrap();
        assert!(folder.path().join("index.lock").exists(), "another git waits");
        assert!(HeldIndex::take(&index).is_err(), "and so does another acquit");
        fs::write(held.copy(), "new and longer").unwrap();
        held.keep().unwrap();
        assert_eq!(
            (fs::read_to_string(&index).unwrap().as_str(), names(folder.path())),
            ("new and longer", vec!["index".into()])
        );

        // Dropping the lock restores the initial state.
        drop(HeldIndex::take(&index).unwrap());
        assert_eq!(names(folder.path()), ["index"]);

        // Killed while holding the lock, and killed after replacing the index.
        fs::write(folder.path().join("index.acquit"), "half").unwrap();
        fs::hard_link(folder.path().join("index.acquit"), folder.path().join("index.lock")).unwrap();
        drop(HeldIndex::take(&index).unwrap());
        assert_eq!(names(folder.path()), ["index"]);
        fs::hard_link(&index, folder.path().join("index.acquit")).unwrap();
        let held = HeldIndex::take(&index).unwrap();
        fs::write(held.copy(), "newer").unwrap();
        assert_eq!(fs::read_to_string(&index).unwrap(), "new and longer", "not before it is kept");
        held.keep().unwrap();
        assert_eq!(
            (fs::read_to_string(&index).unwrap().as_str(), names(folder.path())),
            ("newer", vec!["index".into()])
        );

        // Lock of another git.
        fs::write(folder.path().join("index.lock"), "theirs").unwrap();
        assert!(matches!(HeldIndex::take(&index), Err(Error::IndexLocked { .. })));
        assert_eq!(names(folder.path()), ["index", "index.lock"]);
        assert_eq!(fs::read_to_string(folder.path().join("index.lock")).unwrap(), "theirs");
    }
}
