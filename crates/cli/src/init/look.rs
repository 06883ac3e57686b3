//! Looks at files of a repository that nobody has vouched for: small regular ones only, and never through a link.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The largest file that is read. Manifests have a few kilobytes; what is larger is something else by that name.
const LARGEST: u64 = 1 << 20;

/// A folder that is looked at.
pub(super) struct Folder<'n> {
    path: PathBuf,
    /// Its name below the repository's top; `None` for the top itself.
    name: Option<&'static str>,
    notes: &'n mut Vec<String>,
}

impl<'n> Folder<'n> {
    /// The repository's top.
    pub(super) fn top(repository: &Path, notes: &'n mut Vec<String>) -> Self {
        Self { path: repository.to_owned(), name: None, notes }
    }

    /// A folder in the repository's top, if it is there and not a link.
    pub(super) fn below(repository: &Path, name: &'static str, notes: &'n mut Vec<String>) -> Option<Self> {
        let path = repository.join(name);
        let there = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        there.then_some(Self { path, name: Some(name), notes })
    }

    /// Its name below the repository's top.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Whether it has a regular file of that name.
    pub(super) fn has(&self, file: &str) -> bool {
        fs::symlink_metadata(self.path.join(file)).is_ok_and(|meta| meta.is_file())
    }

    /// The first of these files that it has.
    pub(super) fn first<'f>(&self, files: &[&'f str]) -> Option<&'f str> {
        files.iter().copied().find(|file| self.has(file))
    }

    /// How a script of it is started, if it has one of that name.
    pub(super) fn script(&self, file: &str) -> Option<String> {
        let meta = fs::symlink_metadata(self.path.join(file)).ok().filter(fs::Metadata::is_file)?;
        Some(if meta.mode() & 0o111 == 0 { format!("sh ./{file}") } else { format!("./{file}") })
    }

    /// The text of a file; `None` if there is none, or none that could be used, which is noted.
    pub(super) fn text(&mut self, file: &str) -> Option<String> {
        match read(&self.path.join(file)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.unusable(file, &error.to_string());
                None
            }
        }
    }

    /// Notes that a file is there but of no use.
    pub(super) fn unusable(&mut self, file: &str, why: &str) {
        let shown = self.shown(file);
        self.note(format!("{shown} was left out of account: {why}"));
    }

    /// Notes something for the user.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// What a file is called in notes and lists.
    pub(super) fn shown(&self, file: &str) -> String {
        self.name.map_or_else(|| file.to_owned(), |name| format!("{name}/{file}"))
    }
}

fn read(path: &Path) -> io::Result<String> {
    let meta = fs::symlink_metadata(path)?;
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if meta.is_symlink() {
        return refuse("it is a symbolic link");
    }
    if !meta.is_file() {
        return refuse("it is not a regular file");
    }
    // What has become a link or a pipe since then is neither followed nor waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return refuse("it is larger than 1 MiB");
    }
    String::from_utf8(bytes).or_else(|_| refuse("it is not UTF-8 text"))
}
