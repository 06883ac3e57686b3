//! The index of a user's checkout, held as git holds it while the checkout follows its branch: by `index.lock` beside it.
//!
//! A git that is killed leaves its lock, and nobody can tell whose it was. So acquit holds the lock itself: `index.lock` is a second name of
//! a file of acquit's own, which is locked as long as its holder lives. Git works on a copy, which then becomes the index by one
//! rename. A lock whose holder is dead is removed by the next one; a lock of another git stays, and is told.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::Error;

/// An index that nobody else writes.
pub(super) struct HeldIndex {
    index: PathBuf,
    lock: PathBuf,
    /// Acquit's own name of the lock.
    own: PathBuf,
    /// The copy that git works on.
    copy: PathBuf,
    file: File,
}

/// Another name beside the index.
fn beside(index: &Path, ending: &str) -> PathBuf {
    let mut name = index.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    index.with_file_name(name)
}

/// Whether two names are those of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.symlink_metadata().ok().map(|file| (file.dev(), file.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Removes a name, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl HeldIndex {
    /// Takes it. A lock that a killed acquit left is removed; one of another git is an error.
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
            // Killed after the index was replaced: this name is now one of the index, and must not be written to. Or somebody who
            // held it removed it meanwhile.
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
                // Only this name goes: the lock is not ours.
                let _ = remove(&own);
                return Err(taken());
            }
            Err(error) => return Err(failed(error)),
        }
        let held = Self { index: index.to_owned(), lock, own, copy, file };
        remove(&held.copy).map_err(failed)?;
        match fs::copy(index, &held.copy) {
            Ok(_) => Ok(held),
            // A checkout without an index has none yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(held),
            Err(error) => Err(failed(error)),
        }
    }

    /// The copy that git is to work on.
    pub(super) fn copy(&self) -> &Path {
        &self.copy
    }

    /// Makes the copy the index.
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
        // What stays if this fails is removed by whoever holds it next.
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

        // Given up, it is as it was.
        drop(HeldIndex::take(&index).unwrap());
        assert_eq!(names(folder.path()), ["index"]);

        // Killed while it held the lock, and killed after the index was replaced.
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

        // Another git's.
        fs::write(folder.path().join("index.lock"), "theirs").unwrap();
        assert!(matches!(HeldIndex::take(&index), Err(Error::IndexLocked { .. })));
        assert_eq!(names(folder.path()), ["index", "index.lock"]);
        assert_eq!(fs::read_to_string(folder.path().join("index.lock")).unwrap(), "theirs");
    }
}
