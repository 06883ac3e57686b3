//! One leg at a time: a lock that the kernel releases when its holder ends, however it ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::{Error, Workspace, files};
use crate::pause::pause;

/// A workspace that is ours until this value is dropped. Everything that changes a workspace is done through it.
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
        // Closing is not enough: a child that is just being started holds a copy of the descriptor until its exec.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// How often a lock that somebody has is asked for again.
const AGAIN: Duration = Duration::from_millis(10);

impl Workspace {
    /// Takes the lock as soon as it is free, or says who still has it after `patience`. The one to wait for is a git process
    /// that outlived its harness: it holds the lock too, so that nobody works in a tree that is still being written.
    pub fn lock_within(&self, holder: &str, patience: Duration) -> Result<LockedWorkspace, Error> {
        let begun = Instant::now();
        loop {
            match self.lock(holder) {
                Err(Error::LockedWorkspace { .. }) if begun.elapsed() < patience => pause(AGAIN),
                result => return result,
            }
        }
    }

    /// Takes the lock, or says who has it. `holder` is how this process is named to others.
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
                    // Who it is helps a person; not knowing it changes nothing.
                    let _ = (&mut file).take(files::SMALL).read_to_end(&mut name);
                    let name = String::from_utf8_lossy(&name).trim().to_owned();
                    let holder = if name.is_empty() { "another process".into() } else { name };
                    return Err(Error::LockedWorkspace { path: self.dir.clone(), holder });
                }
                Err(e) => return Err(at(e.into())),
            }
            // A removed workspace leaves its last holder with a file that has no name any more. Locking that one
            // would exclude nobody, so the loop goes on until name and file are the same thing.
            let mine = file.metadata().map_err(at)?;
            match std::fs::symlink_metadata(&path) {
                Ok(named) if (named.dev(), named.ino()) == (mine.dev(), mine.ino()) => {}
                _ => continue,
            }
            file.set_len(0).map_err(at)?;
            file.seek(SeekFrom::Start(0)).map_err(at)?;
            file.write_all(holder.as_bytes()).map_err(at)?;
            // Inherited by the git processes that are started while it is held, and by nobody else: whatever is contained
            // gets no descriptor of ours.
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(|e| at(e.into()))?;
            return Ok(LockedWorkspace { workspace: self.clone(), file });
        }
    }
}
