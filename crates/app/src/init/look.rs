//! Reads files of an untrusted repository: only small regular files, and never through a symlink.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Maximum file size. Manifests have a few kilobytes; anything larger is something else with that name.
const LARGEST: u64 = 1 << 20;

/// Maximum number of members of a workspace.
const MOST_MEMBERS: usize = 100;

/// A folder of the repository.
pub(super) struct Folder<'n> {
    path: PathBuf,
    /// Path below the repository's top; `None` for the top itself.
    name: Option<String>,
    /// Returns whether a fresh clone has a file, by its path below the top.
    cloned: &'n Cloned<'n>,
    notes: &'n mut Vec<String>,
}

/// Returns whether a fresh clone has a file. Ignored files exist in the user's folder but in no task's workspace.
pub type Cloned<'c> = dyn Fn(&str) -> bool + 'c;

impl<'n> Folder<'n> {
    /// Opens the top of the repository.
    pub(super) fn top(repository: &Path, cloned: &'n Cloned<'n>, notes: &'n mut Vec<String>) -> Self {
        Self { path: repository.to_owned(), name: None, cloned, notes }
    }

    /// Opens a folder below the top, if it exists and no part of its path is a symlink.
    pub(super) fn below(
        repository: &Path,
        name: &str,
        cloned: &'n Cloned<'n>,
        notes: &'n mut Vec<String>,
    ) -> Option<Self> {
        let path = repository.join(name);
        is_plain(repository, name).then(|| Self { path, name: Some(name.to_owned()), cloned, notes })
    }

    /// Returns the path below the repository's top.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns whether a regular file with this name exists here and in a fresh clone. Adds a note if it exists only
    /// here.
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

    /// Returns the file names with this extension in a subfolder, at most a hundred.
    pub(super) fn files_in(&self, folder: &str, ending: &str) -> Vec<String> {
        if folder != "." && !is_plain(&self.path, folder) {
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

    /// Returns the manifests of a package and of its members: paths below this folder, where a part may be `*`. Leaves
    /// out members that a fresh clone does not have.
    pub(super) fn manifests(&self, file: &str, members: &[&str], excluded: &[&str]) -> Vec<String> {
        let clean = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
        let mut folders: Vec<String> = Vec::new();
        for member in members {
            let mut found = vec![String::new()];
            for part in clean(member).split('/') {
                let below = |at: &String| match part {
                    "*" => self.files_in(if at.is_empty() { "." } else { at }, ""),
                    part if at.is_empty() => vec![part.to_owned()],
                    part => vec![format!("{at}/{part}")],
                };
                found = found.iter().flat_map(below).take(MOST_MEMBERS).collect();
            }
            folders.extend(found.iter().map(|folder| clean(folder)));
        }
        folders.retain(|folder| {
            let shown = self.shown(&format!("{folder}/{file}"));
            let known = is_plain(&self.path, folder) && self.has(&format!("{folder}/{file}"));
            known && (self.cloned)(&shown) && !excluded.iter().any(|path| clean(path) == *folder)
        });
        folders.sort();
        folders.dedup();
        let members = folders.iter().take(MOST_MEMBERS).map(|folder| format!("{folder}/{file}"));
        std::iter::once(file.to_owned()).chain(members).collect()
    }

    /// Returns whether a regular file with this name exists.
    pub(super) fn has(&self, file: &str) -> bool {
        fs::symlink_metadata(self.path.join(file)).is_ok_and(|meta| meta.is_file())
    }

    /// Returns the first of these files that exists.
    pub(super) fn first<'f>(&self, files: &[&'f str]) -> Option<&'f str> {
        files.iter().copied().find(|file| self.has(file))
    }

    /// Returns the command that starts a script, if it exists.
    pub(super) fn script(&self, file: &str) -> Option<String> {
        let meta = fs::symlink_metadata(self.path.join(file)).ok().filter(fs::Metadata::is_file)?;
        Some(if meta.mode() & 0o111 == 0 { format!("sh ./{file}") } else { format!("./{file}") })
    }

    /// Returns the text of a file. `None` if it does not exist or is unusable; the latter adds a note.
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

    /// Adds a note that a file exists but is unusable.
    pub(super) fn unusable(&mut self, file: &str, why: &str) {
        let shown = self.shown(file);
        self.note(format!("{shown} was left out of account: {why}"));
    }

    /// Adds a note for the user.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Returns the name of a file for notes and lists.
    pub(super) fn shown(&self, file: &str) -> String {
        self.name.as_ref().map_or_else(|| file.to_owned(), |name| format!("{name}/{file}"))
    }
}

/// Returns whether every part of a path below a folder is a folder and not a symlink.
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
    // If the file has become a symlink or a pipe since, neither follow it nor wait for it.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return refuse("it is larger than 1 MiB");
    }
    String::from_utf8(bytes).or_else(|_| refuse("it is not UTF-8 text"))
}
