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
    /// Its path below the repository's top; `None` for the top itself.
    name: Option<String>,
    /// Whether a fresh clone of the repository has a file, by its path below the top.
    cloned: &'n Cloned<'n>,
    notes: &'n mut Vec<String>,
}

/// Tells which files a fresh clone has: what git ignores is in the user's folder and in no task's.
pub type Cloned<'c> = dyn Fn(&str) -> bool + 'c;

impl<'n> Folder<'n> {
    /// The repository's top.
    pub(super) fn top(repository: &Path, cloned: &'n Cloned<'n>, notes: &'n mut Vec<String>) -> Self {
        Self { path: repository.to_owned(), name: None, cloned, notes }
    }

    /// A folder below the repository's top, if it is there and neither it nor what is above it is a link.
    pub(super) fn below(
        repository: &Path,
        name: &str,
        cloned: &'n Cloned<'n>,
        notes: &'n mut Vec<String>,
    ) -> Option<Self> {
        let path = repository.join(name);
        is_plain(repository, name).then(|| Self { path, name: Some(name.to_owned()), cloned, notes })
    }

    /// Its path below the repository's top.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether it has a regular file of that name, and a fresh clone has it too. What is only here is noted.
    pub(super) fn has_cloned(&mut self, file: &str) -> bool {
        if !self.has(file) {
            return false;
        }
        let shown = self.shown(file);
        let cloned = (self.cloned)(&shown);
        if !cloned {
            let note =
                format!("{shown} is not committed, so tasks work without it: commit it to pin dependencies");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        cloned
    }

    /// The names of its files with that ending in a folder of it, at most a hundred.
    pub(super) fn files_in(&self, folder: &str, ending: &str) -> Vec<String> {
        if !is_plain(&self.path, folder) {
            return Vec::new();
        }
        let names = fs::read_dir(self.path.join(folder)).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| name.ends_with(ending))
            .take(100)
            .map(|name| format!("{folder}/{name}"))
            .collect();
        names.sort();
        names
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
        let parent = Path::new(file).parent().and_then(Path::to_str).unwrap_or_default();
        if !is_plain(&self.path, parent) {
            return None;
        }
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
        self.name.as_ref().map_or_else(|| file.to_owned(), |name| format!("{name}/{file}"))
    }
}

/// Whether every part of a path below a folder is a folder and no link.
fn is_plain(folder: &Path, below: &str) -> bool {
    let mut path = folder.to_owned();
    Path::new(below).components().all(|part| {
        path.push(part);
        matches!(part, std::path::Component::Normal(_))
            && fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir())
    })
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
