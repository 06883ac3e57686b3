//! Files that an agent, a gate or a repository made, read as what they are: regular ones only, bounded, never through a link.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a file that somebody else made: not if it or its folder is a link, not if opening it would wait (a pipe), only a
/// regular one. A link would make the harness read for the agent what the agent may not read.
pub(crate) fn open(path: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder =
        rustix::fs::open(path.parent()?, flags | OFlags::DIRECTORY | OFlags::PATH, Mode::empty()).ok()?;
    let file = rustix::fs::openat(folder, path.file_name()?, flags | OFlags::NONBLOCK, Mode::empty()).ok()?;
    let file = File::from(file);
    file.metadata().ok()?.is_file().then_some(file)
}

/// What else there is where a file is expected, if there is something.
pub(crate) fn not_a_file(path: &Path) -> Option<&'static str> {
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
pub(crate) fn text(path: &Path, limit: u64) -> Result<Option<String>, u64> {
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
pub(crate) fn tail(path: &Path, limit: u64) -> String {
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
