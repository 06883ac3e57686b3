//! Lock that lets one leg at a time use a workspace. The kernel releases it when its holder ends, however it ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::{Error, Workspace, files};
use crate::pause::pause;

/// A workspace that is locked until this value is dropped. All changes to a workspace go through it.
#[derive(Debug)]
pub struct LockedWorkspace {
    workspace: Workspace,
    file: File,
}

impl Deref for LockedWorkspace {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

impl Drop for LockedWorkspace {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is starting holds a copy of the descriptor until its exec.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Retry interval while the lock is held.
const AGAIN: Duration = Duration::from_millis(10);

impl Workspace {
    /// Waits up to `patience` for the lock, then reports its holder. The wait is for a git process that outlived its
    /// harness: it inherits the lock, so nothing else uses a tree that is still being written.
    pub fn lock_within(&self, holder: &str, patience: Duration) -> Result<LockedWorkspace, Error> {
        let begun = Instant::now();
        loop {
            match self.lock(holder) {
                Err(Error::LockedWorkspace { .. }) if begun.elapsed() < patience => pause(AGAIN),
                result => return result,
            }
        }
    }

    /// Takes the lock or reports its holder. Other processes see `holder` as the name of this process.
    pub fn lock(&self, holder: &str) -> Result<LockedWorkspace, Error> {
        let path = self.dir.join("lock");
        let at = |e| Error::io("lock", &path, e);
        loop {
            std::fs::create_dir_all(&self.dir).map_err(at)?;
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(at)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let mut name = Vec::new();
                    // The name only helps a person, so an error does not matter.
                    let _ = (&mut file).take(files::SMALL).read_to_end(&mut name);
                    let name = String::from_utf8_lossy(&name).trim().to_owned();
                    let holder = if name.is_empty() { "another process".into() } else { name };
                    return Err(Error::LockedWorkspace { path: self.dir.clone(), holder });
                }
                Err(e) => return Err(at(e.into())),
            }
            // Removing a workspace unlinks the lock file while its holder has it open. Locking the unlinked file would
            // exclude no one, so retry until the path and the open file are the same.
            let mine = file.metadata().map_err(at)?;
            match std::fs::symlink_metadata(&path) {
                Ok(named) if (named.dev(), named.ino()) == (mine.dev(), mine.ino()) => {}
                _ => continue,
            }
            file.set_len(0).map_err(at)?;
            file.seek(SeekFrom::Start(0)).map_err(at)?;
            file.write_all(holder.as_bytes()).map_err(at)?;
            // Git processes started while the lock is held inherit it, and no other process does: sandboxed programs
            // get none of our descriptors.
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(|e| at(e.into()))?;
            return Ok(LockedWorkspace { workspace: self.clone(), file });
        }
    }
}
