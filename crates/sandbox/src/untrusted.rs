//! Reads files written by an agent, a gate or a repository: regular files only, size-limited, without following
//! symlinks. Writes files to directories that these could write to.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

pub use crate::removal::{remove, size};

/// Opens an untrusted regular file. Returns `None` if the file or its parent directory is a symlink: following one
/// would let the agent use the harness to read files it has no access to. Never blocks, not even on a FIFO.
pub fn open(path: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder =
        rustix::fs::open(path.parent()?, flags | OFlags::DIRECTORY | OFlags::PATH, Mode::empty()).ok()?;
    let file = rustix::fs::openat(folder, path.file_name()?, flags | OFlags::NONBLOCK, Mode::empty()).ok()?;
    let file = File::from(file);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Opens `relative` below `root` for reading. Never follows a symlink at any level and never blocks.
pub fn open_below(root: &Path, relative: &str) -> Result<OwnedFd, Errno> {
    let folder = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let file = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut here = rustix::fs::open(root, folder, Mode::empty())?;
    let mut parts = Path::new(relative).components().peekable();
    while let Some(part) = parts.next() {
        // Any other component (`..`, `/`) leads out of the root, so reject it like a symlink.
        let Component::Normal(name) = part else { return Err(Errno::LOOP) };
        let flags = if parts.peek().is_some() { folder } else { file };
        here = openat(&here, name, flags, Mode::empty())?;
    }
    Ok(here)
}

/// Atomically writes a new file below `root` without following symlinks at any level. Replaces an existing entry; for
/// a symlink, the link itself and not its target.
pub fn put_below(root: &Path, path: &str, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let folder = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let mut here: OwnedFd = rustix::fs::open(root, folder, Mode::empty())?;
    let mut parts = Path::new(path).components().peekable();
    while let Some(Component::Normal(name)) = parts.next() {
        if parts.peek().is_some() {
            match mkdirat(&here, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            here = openat(&here, name, folder, Mode::empty())?;
            continue;
        }
        let aside = format!(".acquit-{}", std::process::id());
        match unlinkat(&here, aside.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let new = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&here, aside.as_str(), new, mode)?;
        let written = File::from(file).write_all(bytes);
        let put = written.and_then(|()| Ok(renameat(&here, aside.as_str(), &here, name)?));
        if put.is_err() {
            // An incomplete file is useless.
            let _ = unlinkat(&here, aside.as_str(), AtFlags::empty());
        }
        return put;
    }
    Err(io::Error::other("the path has no name"))
}

/// Reads the whole file. `None` if it is not a regular file or is longer than `limit`.
pub fn content(fd: OwnedFd, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = File::from(fd).take(limit + 1).read_to_end(&mut bytes)?;
    Ok((u64::try_from(read).unwrap_or(u64::MAX) <= limit).then_some(bytes))
}

/// Reads a regular file below `root` without following symlinks. `None` if it is missing, too long or anything else.
pub fn plain(root: &Path, relative: &str, limit: u64) -> Option<Vec<u8>> {
    content(open_below(root, relative).ok()?, limit).ok()?
}

/// Describes what is at `path` if it exists and is not a regular file.
pub fn not_a_file(path: &Path) -> Option<&'static str> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    (!kind.is_file()).then(|| words(kind))
}

/// Describes what is at `path` if it exists and is not a folder.
pub fn not_a_folder(path: &Path) -> Option<&'static str> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    (!kind.is_dir()).then(|| words(kind))
}

fn words(kind: fs::FileType) -> &'static str {
    if kind.is_file() {
        "a file"
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "neither a file nor a folder"
    }
}

/// Reads a file as text, with invalid UTF-8 replaced. `Ok(None)` if it is not a readable regular file; `Err` with its
/// size if it is larger than `limit`.
pub fn text(path: &Path, limit: u64) -> Result<Option<String>, u64> {
    let Some(file) = open(path) else { return Ok(None) };
    let size = file.metadata().map_or(0, |meta| meta.len());
    if size > limit {
        return Err(size);
    }
    let mut bytes = Vec::new();
    if file.take(limit).read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads the last `limit` bytes of a file as text, with invalid UTF-8 replaced. Empty if the file cannot be read.
pub fn tail(path: &Path, limit: u64) -> String {
    let read = || -> Option<Vec<u8>> {
        let mut file = open(path)?;
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(limit))).ok()?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
}
