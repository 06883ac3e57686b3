//! Files that an agent, a gate or a repository made, read as what they are: regular ones only, bounded, never through a link.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

pub use crate::removal::{remove, size};

/// Opens a file that somebody else made: not if it or its folder is a link, not if opening it would wait (a pipe), only a
/// regular one. A link would make the harness read for the agent what the agent may not read.
pub fn open(path: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder =
        rustix::fs::open(path.parent()?, flags | OFlags::DIRECTORY | OFlags::PATH, Mode::empty()).ok()?;
    let file = rustix::fs::openat(folder, path.file_name()?, flags | OFlags::NONBLOCK, Mode::empty()).ok()?;
    let file = File::from(file);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Opens what is at `relative` below `root` to read it, without following a link at any level and without waiting for anybody.
pub fn open_below(root: &Path, relative: &str) -> Result<OwnedFd, Errno> {
    let folder = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let file = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut here = rustix::fs::open(root, folder, Mode::empty())?;
    let mut parts = Path::new(relative).components().peekable();
    while let Some(part) = parts.next() {
        // Whatever else could be part of a path leads elsewhere, as a link does.
        let Component::Normal(name) = part else { return Err(Errno::LOOP) };
        let flags = if parts.peek().is_some() { folder } else { file };
        here = openat(&here, name, flags, Mode::empty())?;
    }
    Ok(here)
}

/// The whole content; none when it is not a regular file, or longer than allowed.
pub fn content(fd: OwnedFd, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = File::from(fd).take(limit + 1).read_to_end(&mut bytes)?;
    Ok((u64::try_from(read).unwrap_or(u64::MAX) <= limit).then_some(bytes))
}

/// The content of a plain file below `root`, reached through real folders only; none if there is anything else.
pub fn plain(root: &Path, relative: &str, limit: u64) -> Option<Vec<u8>> {
    content(open_below(root, relative).ok()?, limit).ok()?
}

/// What else there is where a file is expected, if there is something.
pub fn not_a_file(path: &Path) -> Option<&'static str> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_file() {
        None
    } else if kind.is_symlink() {
        Some("a link")
    } else if kind.is_dir() {
        Some("a folder")
    } else {
        Some("neither a file nor a folder")
    }
}

/// A file's text, made valid; `None` if there is no such regular file; its size if it is too large.
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

/// The end of a file, made valid.
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
