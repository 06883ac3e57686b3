//! Writes the planned files. Every step uses the descriptor of a folder that was opened without following symlinks, so
//! nothing is ever written outside the repository, even if it changes meanwhile. Each file is written atomically.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Plan, render};

/// Whether to replace existing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Keep existing files.
    Never,
    /// Replace existing files, and keep their old content as `<name>.old`.
    Allowed,
    /// Replace existing files: the new text contains the old content, or the files are generated.
    InPlace,
}

/// Why the files could not be written. Messages continue "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file already exists.
    #[error("write {}: it is already there", .0.display())]
    Exists(PathBuf),
    /// The repository has no working tree.
    #[error("write into {}: it is a bare repository, which has no files; clone it, and run `acquit init` in the clone", .0.display())]
    Bare(PathBuf),
    /// A folder is a symlink or not a folder.
    #[error("write into {}: it is a link or not a folder, and what is outside of the repository is left alone", .0.display())]
    NotAFolder(PathBuf),
    /// A hook cannot be added to a settings file of an agent.
    #[error("add a hook to {}: {why}", path.display())]
    Settings {
        /// The settings file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// An error of the file system.
    #[error("{doing} {}", path.display())]
    File {
        /// The failed operation.
        doing: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists(_) => {
                Some("use --force to write it anew; what is there is kept in a file whose name ends in .old")
            }
            Self::Settings { .. } => Some("mend the file, or move it away and try again"),
            Self::NotAFolder(_) => Some("make it a folder of the repository, or move it away"),
            Self::Bare(_) => None,
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    Some("acquit needs to write into the repository's folder")
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space and try again; nothing that was there is lost")
                }
                _ => None,
            },
        }
    }

    fn file(doing: &'static str, path: &Path) -> impl Fn(Errno) -> Self {
        move |errno| Self::File { doing, path: path.to_owned(), source: errno.into() }
    }
}

/// Writes the planned files. Returns the copies of earlier files that it made, with their text. After a failure the
/// configuration is unchanged, so that the user can simply try again.
pub fn write(repository: &Path, plan: &Plan, overwrite: Overwrite) -> Result<Vec<(PathBuf, String)>, Error> {
    let has = |name: &str| repository.join(name).exists();
    if ["HEAD", "objects", "refs"].into_iter().all(has) && !has(".git") {
        return Err(Error::Bare(repository.to_owned()));
    }
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = fs::open(repository, flags, Mode::empty()).map_err(Error::file("open", repository))?;
    if overwrite == Overwrite::Never {
        refuse_existing(repository, plan)?;
    }
    let mut kept = Vec::new();
    for (path, text) in &plan.files {
        let failed =
            |doing: &'static str| move |source| Error::File { doing, path: repository.join(path), source };
        let (folder, name) = open_parent(&top, repository, path)?;
        if overwrite == Overwrite::Allowed {
            let old = keep_old(&folder, &name, text).map_err(failed("keep a copy of"))?;
            kept.extend(old.map(|(name, text)| (path.with_file_name(name), text)));
        }
        replace(&folder, &name, text).map_err(failed("write"))?;
    }
    Ok(kept)
}

/// Copies a file next to itself, unless it has this text already or is not a regular text file. Returns name and text
/// of the copy. An earlier copy with another text stays.
fn keep_old(folder: &OwnedFd, name: &str, text: &str) -> io::Result<Option<(String, String)>> {
    let Some(old) = text_of(folder, name)?.filter(|old| old != text) else { return Ok(None) };
    for number in 1.. {
        let copy = if number == 1 { format!("{name}.old") } else { format!("{name}.old{number}") };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(folder, &copy, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                let mut file = File::from(file);
                file.write_all(old.as_bytes()).and_then(|()| file.sync_all())?;
            }
            Err(Errno::EXIST) if text_of(folder, &copy)?.as_ref() == Some(&old) => {}
            Err(Errno::EXIST) => continue,
            Err(errno) => return Err(errno.into()),
        }
        return Ok(Some((copy, old)));
    }
    Ok(None)
}

/// Returns the text of a regular file, without following a symlink.
fn text_of(folder: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).ok())
}

/// Returns an error if a configuration exists, with any content, or if another file would change. A file with the same
/// content was left by an interrupted run.
fn refuse_existing(repository: &Path, plan: &Plan) -> Result<(), Error> {
    for (path, text) in &plan.files {
        let full = repository.join(path);
        match full.symlink_metadata() {
            Ok(_) if path == Path::new(render::CONFIG) => return Err(Error::Exists(full)),
            Ok(meta) if meta.is_file() && same(&full, text) => {}
            Ok(_) => return Err(Error::Exists(full)),
            // Writing will report any other error.
            Err(_) => {}
        }
    }
    Ok(())
}

fn same(path: &Path, text: &str) -> bool {
    let mut found = Vec::new();
    let read = File::open(path).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut found));
    read.is_ok() && found == text.as_bytes()
}

/// Opens the parent folder of a relative path without following symlinks, and creates missing folders. Also returns the
/// file name.
fn open_parent(top: &OwnedFd, repository: &Path, path: &Path) -> Result<(OwnedFd, String), Error> {
    let mut shown = repository.to_owned();
    let mut folder =
        top.try_clone().map_err(|source| Error::File { doing: "open", path: shown.clone(), source })?;
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) if name.to_str().is_some() => parts.extend(name.to_str()),
            Component::Normal(_)
            | Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => {
                return Err(Error::NotAFolder(path.to_owned()));
            }
        }
    }
    let Some((name, folders)) = parts.split_last() else { return Err(Error::NotAFolder(path.to_owned())) };
    for part in folders {
        shown.push(part);
        match fs::mkdirat(&folder, *part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(Error::file("make the folder", &shown)(errno)),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = match fs::openat(&folder, *part, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(Error::NotAFolder(shown)),
            Err(errno) => return Err(Error::file("open", &shown)(errno)),
        };
    }
    Ok((folder, (*name).to_owned()))
}

/// Replaces a file once the new content is complete and on disk.
fn replace(folder: &OwnedFd, name: &str, text: &str) -> io::Result<()> {
    // Use one name per process, so that concurrent processes don't mix. A file left by an earlier process with the same
    // id is garbage.
    let fresh = format!(".{name}.{}.new", std::process::id());
    match fs::unlinkat(folder, &fresh, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(folder, &fresh, flags, Mode::from_raw_mode(0o666))?);
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(fs::renameat(folder, &fresh, folder, name)?));
    if written.is_err() {
        // Report the first failure, not this one.
        let _ = fs::unlinkat(folder, &fresh, AtFlags::empty());
    }
    written
}
