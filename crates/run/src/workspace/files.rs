//! File access for this module. Reads small files whole and never through a symlink; writes are atomic.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::Error;
use crate::untrusted::{self, content};

/// Enough for any file that holds one id or one name.
pub(super) const SMALL: u64 = 4 << 10;
/// Enough for tens of thousands of packed refs. The agent's clone starts with one.
pub(super) const LARGE: u64 = 4 << 20;

/// Writes a file atomically: after a crash it has either the old or the new content. The temporary file has the suffix
/// `.lock`, which git itself uses, because git never takes such a file for a ref.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let aside = path.with_file_name(name);
    fs::write(&aside, bytes).and_then(|()| fs::rename(&aside, path)).map_err(|e| Error::io("write", path, e))
}

/// Reads one of our own files. `None` if it does not exist.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Error> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match open(path, flags, Mode::empty()) {
        Ok(fd) => content(fd, limit).map_err(|e| Error::io("read", path, e)),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(Error::io("read", path, e.into())),
    }
}

/// The kind of entry at a path that someone else wrote.
pub(super) enum Found {
    /// The path does not exist.
    Absent,
    /// A regular file, reached through real directories only.
    Content(Vec<u8>),
    /// Anything else: a symlink on the way, a directory, a device, or more bytes than allowed.
    Odd,
}

/// Reads an untrusted file below `root` without following symlinks at any level.
pub(super) fn read_untrusted(root: &Path, relative: &str, limit: u64) -> Result<Found, Error> {
    let at = |e: Errno| Error::io("read", &root.join(relative), e.into());
    let here = match untrusted::open_below(root, relative) {
        Ok(fd) => fd,
        Err(e) => return odd_or_absent(e).ok_or_else(|| at(e)),
    };
    match content(here, limit) {
        Ok(Some(bytes)) => Ok(Found::Content(bytes)),
        Ok(None) => Ok(Found::Odd),
        Err(e) => Err(Error::io("read", &root.join(relative), e)),
    }
}

fn odd_or_absent(error: Errno) -> Option<Found> {
    match error {
        Errno::NOENT => Some(Found::Absent),
        Errno::LOOP | Errno::NOTDIR | Errno::ACCESS | Errno::NXIO | Errno::NAMETOOLONG => Some(Found::Odd),
        _ => None,
    }
}

/// Removes the entry at `path`, of any kind. Removes a symlink itself, not its target. A missing path is not an error.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    untrusted::remove(path).map_err(|e| Error::io("remove", path, e))
}

/// Moves `from` to the first free name of `<folder>/<stem>`, `<folder>/<stem>-2`, …
pub(super) fn move_aside(from: &Path, folder: &Path, stem: &str) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
    let mut to = folder.join(stem);
    let mut number = 2_u32;
    while fs::symlink_metadata(&to).is_ok() {
        to = folder.join(format!("{stem}-{number}"));
        number += 1;
    }
    fs::rename(from, &to).map_err(|e| Error::io("move aside", from, e))?;
    Ok(to)
}
