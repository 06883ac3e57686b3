//! The list of entries of a policy while it is made: every place where it really is, and the links on the way to it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Entry, What};

/// Links that are followed to find where a place really is, as the kernel does.
const MOST_LINKS: usize = 40;

/// The entries so far.
pub(super) struct View {
    pub(super) entries: Vec<Entry>,
    /// Folders that programs in a sandbox write to. A link in there may be planted, so none is followed: it would show the
    /// next program whatever the last one chose.
    written: Vec<PathBuf>,
}

impl View {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), written: Vec::new() }
    }

    /// Follows no link in this folder from now on.
    pub(super) fn distrust(&mut self, folder: &Path) {
        if let Some(real) = resolve(folder, &self.written, |_, _| {}) {
            self.written.push(real);
        }
    }

    /// Shows one of the many places that some machine has, if this one does.
    pub(super) fn show_if_there(&mut self, place: &Path, what: What) {
        if place.symlink_metadata().is_ok() {
            self.show(place, what);
        }
    }

    /// Shows a place where it really is, and the links on the way to it. Says where that is.
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
        // What is seen already because of what lies around it needs no mount of its own, and what is not seen none that hides it.
        let around = self.around(&real);
        let is_needed = match what {
            // In a folder that can be written it still has to be kept from that.
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

    /// What a real place is part of, so far.
    fn around(&self, real: &Path) -> Option<&What> {
        let covers = |entry: &&Entry| !matches!(entry.what, What::Link { .. }) && is_in(real, &entry.at);
        self.entries.iter().rfind(covers).map(|entry| &entry.what)
    }
}

/// Where a place really is. Each link on the way is told: where it is, and where it leads. None if one may be planted.
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

/// Whether a place is another one or lies in it. Both are plain, so their bytes say it: this is asked thousands of times.
pub(super) fn is_in(place: &Path, folder: &Path) -> bool {
    let rest = place.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// The names of a path, last first, without `..`.
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
