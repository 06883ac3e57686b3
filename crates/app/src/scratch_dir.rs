//! A scratch folder of one process: private, with a unique name, and removed with the process. A killed process leaves
//! its folder behind; the next process removes it.
#![allow(clippy::disallowed_methods, reason = "the time is part of a name that nobody else has")]

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::error::Error;

/// The scratch folder. Removed on drop.
pub struct Folder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Held as long as the folder is in use, so that no other process removes it as a leftover.
    _lock: File,
}

const LOCK: &str = "lock";

impl Folder {
    /// Creates a folder below `below`, and removes those of processes that have ended.
    pub fn new(below: &Path) -> Result<Self, Error> {
        let at = |source| Error::File { doing: "create a folder in", path: below.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(below).map_err(at)?;
        sweep(below);
        loop {
            let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
            let path = below.join(format!("{}-{time}", std::process::id()));
            // Lock it before the folder exists. A concurrent sweep may still be faster; then try again.
            let file = path.with_extension(LOCK);
            let lock = match File::create_new(&file) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other.map_err(at)?,
            };
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
                || !is_still_there(&file, &lock)
            {
                continue;
            }
            DirBuilder::new().mode(0o700).create(&path).map_err(at)?;
            return Ok(Self { path, _lock: lock });
        }
    }

    /// Leaves the folder behind, for the user. It stays until another process makes one in the same place.
    pub fn leave(self) -> PathBuf {
        // The lock ends with this process.
        std::mem::ManuallyDrop::new(self).path.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn is_still_there(path: &Path, file: &File) -> bool {
    let numbers = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let there = fs::symlink_metadata(path).map(numbers);
    matches!((there, file.metadata().map(numbers)), (Ok(there), Ok(ours)) if there == ours)
}

/// Removes the folders of processes that have ended.
fn sweep(below: &Path) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let file = entry.path();
        let is_lock = file.extension().is_some_and(|extension| extension == LOCK);
        let Ok(lock) = File::open(&file) else { continue };
        if is_lock && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&file.with_extension(""));
        }
    }
}

/// Removes a folder, and then its lock. If that fails, the next process tries again.
fn remove(folder: &Path) {
    if acquit_run::workspace::remove_folder(folder).is_ok() {
        let _ = fs::remove_file(folder.with_extension(LOCK));
    }
}
