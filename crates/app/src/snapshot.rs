//! A snapshot of the files of `.acquit/`. Checks, output, hashes and use all work on this copy, so that nothing changes
//! in between.
//!
//! Only reads regular files, and symlinks that stay inside the folder: an untrusted repository may contain symlinks to
//! files that no prompt should show, and pipes that never end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Maximum file size: a hundred times what anyone writes for an agent.
const LARGEST: u64 = 256 * 1024;
/// Maximum number of files: a hundred times what projects have.
const MOST: usize = 5_000;
/// Maximum depth of folders.
const DEEPEST: usize = 16;

/// Files of a folder by relative path.
#[derive(Clone, Debug, Default)]
pub struct Snapshot(BTreeMap<String, Content>);

/// Content of a path.
#[derive(Clone, Debug)]
pub enum Content {
    /// Bytes of a file.
    Bytes(Vec<u8>),
    /// Not read, for this reason.
    Refused(Refusal),
}

/// Why a path was not read.
#[derive(Clone, Debug)]
pub struct Refusal {
    kind: io::ErrorKind,
    number: Option<i32>,
    words: String,
}

impl Refusal {
    fn new(words: &str) -> Self {
        Self { kind: io::ErrorKind::Other, number: None, words: words.to_owned() }
    }

    /// Returns the reason as text.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the reason as an I/O error.
    pub fn error(&self) -> io::Error {
        match self.number {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(self.kind, self.words.clone()),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self { kind: error.kind(), number: error.raw_os_error(), words: error.to_string() }
    }
}

impl Snapshot {
    /// Reads a folder.
    pub fn take(folder: &Path) -> io::Result<Self> {
        if folder.symlink_metadata()?.is_symlink() {
            return Err(io::Error::other("it is a link, and must be a folder of the repository"));
        }
        let mut found = Self::default();
        found.walk(folder, folder, "", 0)?;
        Ok(found)
    }

    fn walk(&mut self, top: &Path, folder: &Path, front: &str, depth: usize) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // No file of ours has a name that is not UTF-8, and none of ours can refer to one.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{front}{name}");
            if self.0.len() >= MOST {
                return Err(io::Error::other(format!("it has more than {MOST} files")));
            }
            let kind = entry.file_type()?;
            let content = if kind.is_symlink() {
                linked(top, &entry.path())
            } else if kind.is_dir() {
                // Report a folder with the name of a workflow as a mistake.
                if path.starts_with("workflows/") && path.strip_suffix(".toml").is_some() {
                    Content::Refused(io::Error::from(io::ErrorKind::IsADirectory).into())
                } else if depth >= DEEPEST {
                    Content::Refused(Refusal::new("its folders are too deep"))
                } else {
                    match self.walk(top, &entry.path(), &format!("{path}/"), depth + 1) {
                        Ok(()) => continue,
                        Err(error) if error.kind() == io::ErrorKind::Other => return Err(error),
                        Err(error) => Content::Refused(error.into()),
                    }
                }
            } else {
                plain(&entry.path())
            };
            self.0.insert(path, content);
        }
        Ok(())
    }

    /// Returns the content of a path.
    pub fn get(&self, path: &str) -> Option<&Content> {
        self.0.get(path)
    }

    /// Returns the paths of the files directly in a folder, including files that could not be read.
    pub fn names(&self, folder: &str) -> Vec<&str> {
        let inside = |path: &'_ &String| {
            path.strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| !name.contains('/'))
        };
        self.0.keys().filter(inside).map(String::as_str).collect()
    }

    /// Returns all files as text, for people to read.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let text = |content: &Content| match content {
            Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Refused(refusal) => format!("(not read: {})\n", refusal.words),
        };
        self.0.iter().map(|(path, content)| (path.clone(), text(content))).collect()
    }

    /// Returns a hash of these files and their content.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, content) in &self.0 {
            let (kind, bytes) = match content {
                Content::Bytes(bytes) => (b'f', bytes.as_slice()),
                Content::Refused(_) => (b'-', [].as_slice()),
            };
            // Hash lengths first, so that two different lists of files never hash the same bytes.
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path.as_bytes());
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        acquit_core::hex::encode(&hash.finalize())
    }
}

/// Reads the target of a symlink, if it is inside the folder.
fn linked(top: &Path, path: &Path) -> Content {
    let refused = |why: &str| Content::Refused(Refusal::new(why));
    let (Ok(real), Ok(top)) = (path.canonicalize(), top.canonicalize()) else {
        return refused("it is a link that leads nowhere");
    };
    if !real.starts_with(&top) {
        return refused("it is a link that leads out of .acquit/");
    }
    plain(&real)
}

fn plain(path: &Path) -> Content {
    // Opening a pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened: io::Result<OwnedFd> = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let read = || -> Result<Vec<u8>, Refusal> {
        let file = File::from(opened?);
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(Refusal::new("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Refusal::new("it is larger than 256 KiB"));
        }
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Content::Bytes(bytes),
        Err(refusal) => Content::Refused(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn digest(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Snapshot::take(folder.path()).unwrap().digest()
    }

    #[test]
    fn every_file_its_name_and_its_content_count() {
        let base = digest(&[("a", "1"), ("b/c", "2")]);
        assert_eq!(base, digest(&[("b/c", "2"), ("a", "1")]));
        for other in [
            &[("a", "1")][..],
            &[("a", "1"), ("b/c", "3")],
            &[("a", "1"), ("b/d", "2")],
            &[("a", "12"), ("b/c", "")],
            &[("a", "1"), ("b/c", "2"), ("d", "")],
        ] {
            assert_ne!(base, digest(other), "{other:?}");
        }
    }

    #[test]
    fn links_out_and_pipes_are_not_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(".acquit");
        fs::create_dir(&folder).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        fs::write(folder.join("in"), "inside").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
        std::os::unix::fs::symlink("in", folder.join("same")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let found = Snapshot::take(&folder).unwrap();
        let texts = found.texts();
        assert!(!texts.values().any(|text| text.contains("secret")), "{texts:?}");
        assert_eq!(texts["same"], "inside");
        for refused in ["out", "up", "pipe"] {
            assert!(matches!(found.get(refused), Some(Content::Refused(_))), "{refused}");
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(".acquit", &link).unwrap();
        assert!(Snapshot::take(&link).is_err(), "the folder itself must not be a link");
    }
}
