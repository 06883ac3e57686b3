//! Builds the entries of a policy: the real path of every place to show, and the symlinks on the way.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Entry, What};

/// Maximum number of symlinks to follow, as in the kernel.
const MOST_LINKS: usize = 40;

/// The entries so far.
pub(super) struct View {
    pub(super) entries: Vec<Entry>,
    /// Directories that sandboxed programs write to. Follow no symlink in them: a planted one would show the next
    /// program whatever the last one chose.
    written: Vec<PathBuf>,
}

impl View {
    /// Creates an empty list.
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), written: Vec::new() }
    }

    /// Stops following symlinks in this directory.
    pub(super) fn distrust(&mut self, folder: &Path) {
        if let Some(real) = resolve(folder, &self.written, |_, _| {}) {
            self.written.push(real);
        }
    }

    /// Shows a path if it exists on this machine.
    pub(super) fn show_if_there(&mut self, place: &Path, what: What) {
        if place.symlink_metadata().is_ok() {
            self.show(place, what);
        }
    }

    /// Shows a path at its real location, with the symlinks on the way. Returns the real path.
    pub(super) fn show(&mut self, place: &Path, what: What) -> Option<PathBuf> {
        let mut links = Vec::new();
        let real = resolve(place, &self.written, |at, to| {
            links.push(Entry { at: at.to_owned(), what: What::Link { to: to.to_owned() } });
        })?;
        for link in links {
            if !self.entries.contains(&link) {
                self.entries.push(link);
            }
        }
        // Skip what is already visible through a parent entry, and hide only what is visible.
        let around = self.around(&real);
        let is_needed = match what {
            // Inside a writable directory it still needs a read-only mount.
            What::Read => !matches!(around, Some(What::Read | What::Overlaid { .. })),
            What::Hidden => matches!(
                around,
                Some(What::Read | What::Write | What::Overlaid { .. } | What::Layered { .. })
            ),
            What::Write
            | What::Bound { .. }
            | What::Overlaid { .. }
            | What::Layered { .. }
            | What::Scratch
            | What::Link { .. } => true,
        };
        if real.parent().is_some() && is_needed {
            self.entries.push(Entry { at: real.clone(), what });
        }
        Some(real)
    }

    /// Returns the innermost entry that contains a real path.
    fn around(&self, real: &Path) -> Option<&What> {
        let covers = |entry: &&Entry| !matches!(entry.what, What::Link { .. }) && is_in(real, &entry.at);
        self.entries.iter().rfind(covers).map(|entry| &entry.what)
    }
}

/// Resolves a path. Calls `link` with each symlink on the way and its target. `None` if a symlink may be planted.
fn resolve(place: &Path, written: &[PathBuf], mut link: impl FnMut(&Path, &Path)) -> Option<PathBuf> {
    let mut links = 0;
    let mut real = PathBuf::from("/");
    let mut rest = plain(place);
    while let Some(name) = rest.pop() {
        let next = real.join(&name);
        match fs::read_link(&next) {
            Ok(to) if links < MOST_LINKS => {
                if written.iter().any(|folder| is_in(&next, folder)) {
                    return None;
                }
                links += 1;
                rest.append(&mut plain(&real.join(&to)));
                link(&next, &to);
                real = PathBuf::from("/");
            }
            _ => real = next,
        }
    }
    Some(real)
}

/// Returns whether a path is `folder` or below it. Compares bytes, as both are normalized and this runs thousands of
/// times.
pub(super) fn is_in(place: &Path, folder: &Path) -> bool {
    let rest = place.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// Returns the components of a path, last first, with `..` resolved.
fn plain(path: &Path) -> Vec<OsString> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => drop(names.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    names.reverse();
    names
}
