//! A folder that belongs to one process: private, of a name that nobody had before, and gone with the process. One that was killed leaves
#![allow(clippy::disallowed_methods, reason = "the time is part of a name that nobody else has")]
//! its folder behind; the next process removes it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::error::Error;

/// The folder. Removed when this is dropped.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// Held as long as the folder is needed, so that nobody takes it for one that was left behind.
    _lock: File,
}

const LOCK: &str = "lock";

impl Folder {
    /// Makes one below a folder, and removes those of processes that are gone.
    pub fn new(below: &Path) -> Result<Self, Error> {
        let at = |source| Error::File { doing: "create a folder in", path: below.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(below).map_err(at)?;
        sweep(below);
        loop {
            let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
            let path = below.join(format!("{}-{time}", std::process::id()));
            // LockedWorkspace before the folder exists. Somebody who sweeps may still be faster, and then it is made again.
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

/// Removes the folders whose process is gone.
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

/// Removes a folder, and then its lock. What cannot be removed is tried again by the next process.
fn remove(folder: &Path) {
    if acquit_run::workspace::remove_folder(folder).is_ok() {
        let _ = fs::remove_file(folder.with_extension(LOCK));
    }
}
