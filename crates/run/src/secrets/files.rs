//! Redacts secrets in files that programs wrote: replaces each file by its redacted copy, and keeps it if it has no
//! secret.
//!
//! The files are untrusted, so symlinks are not followed and only regular files are read. A file that cannot be
//! redacted is removed, because it may contain the secret.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::{Redactor, Stream};
use crate::untrusted;
use crate::untrusted::remove;

/// Maximum number of files in a directory to check: far more than an agent leaves on purpose. The rest is removed.
const MOST_FILES: usize = 20_000;

/// Maximum apparent size of the files in a directory. A sparse file can claim any size, and reading it takes as long as
/// if it had that. The rest is removed.
const MOST_BYTES: u64 = 4 << 30;

/// Maximum depth of nested directories.
const DEEPEST: usize = 32;

/// Suffix of the redacted copy while it is written.
const ASIDE: &str = ".acquit-clean";

impl Redactor {
    /// Redacts a file. Does nothing if there is no such regular file.
    pub(crate) fn file(&self, path: &Path) -> io::Result<()> {
        if self.knows_none() {
            return Ok(());
        }
        let Some(mut file) = untrusted::open(path).or_else(|| opened(path)) else {
            // A file that cannot be opened cannot be checked, so remove it.
            return if is_file(path) { fs::remove_file(path) } else { Ok(()) };
        };
        if file.metadata()?.len() > MOST_BYTES {
            return fs::remove_file(path);
        }
        if !self.is_in(&mut file)? {
            return Ok(());
        }
        self.copy_clean(path).or_else(|error| {
            fs::remove_file(path)?;
            Err(error)
        })
    }

    /// Redacts everything in a directory: contents, and also names. A file with a secret in its name is removed.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<()> {
        if self.knows_none() {
            return Ok(());
        }
        self.folder_within(path, 0, &mut Seen::default())
    }

    fn folder_within(&self, path: &Path, depth: usize, seen: &mut Seen) -> io::Result<()> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // Its program removed the permissions; we own it, so restore them.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::set_permissions(path, Permissions::from_mode(0o700))?;
                fs::read_dir(path)?
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            seen.add(&entry);
            let target = if kind.is_symlink() { fs::read_link(&path)? } else { path.clone() };
            let named = self.finds(entry.file_name().as_bytes())
                || kind.is_symlink() && self.finds(target.as_os_str().as_bytes());
            if kind.is_dir() {
                if named || depth >= DEEPEST || seen.is_too_much() {
                    remove(&path)?;
                } else {
                    self.folder_within(&path, depth + 1, seen)?;
                }
            } else if named || seen.is_too_much() {
                fs::remove_file(&path)?;
            } else if kind.is_file() {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    fn is_in(&self, file: &mut File) -> io::Result<bool> {
        let found = |stream: &Stream, _: &[u8]| Ok((stream.replaced() > 0).then_some(()));
        Ok(Stream::new(self.clone()).pass(file, found)?.is_some())
    }

    fn copy_clean(&self, path: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let mut aside = name.to_owned();
        aside.push(ASIDE);
        let aside = folder.join(aside);
        match fs::remove_file(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let Some(mut file) = untrusted::open(path) else { return Ok(()) };
        let mut copy =
            BufWriter::new(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?);
        Stream::new(self.clone()).pass(&mut file, |_, clean| copy.write_all(clean).map(|()| None::<()>))?;
        copy.flush()?;
        drop(copy);
        fs::rename(&aside, path)
    }
}

/// The files that were already checked.
#[derive(Default)]
struct Seen {
    files: usize,
    bytes: u64,
    /// Size of the last file, if it was too large.
    size: u64,
}

impl Seen {
    fn add(&mut self, entry: &fs::DirEntry) {
        self.files += 1;
        self.size = entry.metadata().map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 });
        // Removing one file for its size must not affect the rest.
        if self.bytes.saturating_add(self.size) <= MOST_BYTES {
            self.bytes += self.size;
            self.size = 0;
        }
    }

    /// Returns whether the file that was added last exceeds a limit.
    fn is_too_much(&self) -> bool {
        self.files > MOST_FILES || self.size > 0
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

/// Opens a regular file whose permissions its program removed.
fn opened(path: &Path) -> Option<File> {
    if !is_file(path) {
        return None;
    }
    fs::set_permissions(path, Permissions::from_mode(0o600)).ok()?;
    untrusted::open(path)
}

#[cfg(test)]
mod tests {
    use super::super::{Known, Secret};
    use super::*;

    #[test]
    fn what_is_beyond_the_files_that_are_looked_at_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), "nothing secret").expect("a file");
        }
        let redactor = Redactor::new(&[(Secret::new("KEY", b"hunter2-hunter2".to_vec()), Known::Declared)]);
        let mut seen = Seen { files: MOST_FILES - 1, ..Seen::default() };
        redactor.folder_within(folder.path(), 0, &mut seen).expect("cleaned");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_sparse_file_that_says_it_is_huge_is_removed_and_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("report"), "nothing secret").expect("a file");
        File::create(folder.path().join("sparse")).and_then(|file| file.set_len(1 << 40)).expect("a hole");
        let redactor = Redactor::new(&[(Secret::new("KEY", b"hunter2-hunter2".to_vec()), Known::Declared)]);
        redactor.folder(folder.path()).expect("cleaned");
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["report"]);
    }
}
