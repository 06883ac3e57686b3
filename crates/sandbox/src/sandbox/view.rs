//! Builds the entries of a policy: the real path of every place to show, and the symlinks on the way.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Entry, What};

/// Maximum number of symlinks to follow, as in the kernel.
const MOST_LINKS: usize = 40;

/// Never shown: it has the processes of the whole machine.
const PROC: &str = "/proc";

/// The entries so far.
pub(super) struct View {
    pub(super) entries: Vec<Entry>,
    /// Directories that sandboxed programs write to. Symlinks in them are not followed: with a planted one, the last
    /// program would choose what the next one sees.
    written: Vec<PathBuf>,
    /// Targets of the symlinks among the paths resolved so far. Most paths share their parents.
    links: HashMap<PathBuf, Option<PathBuf>>,
}

impl View {
    /// Creates an empty list.
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), written: Vec::new(), links: HashMap::new() }
    }

    /// Stops following symlinks in this directory.
    pub(super) fn distrust(&mut self, folder: &Path) {
        if let Some(real) = self.resolve(folder, &mut Vec::new()) {
            self.written.push(real);
        }
    }

    /// Returns whether a real path is visible already, read-only.
    pub(super) fn shows(&self, real: &Path) -> bool {
        matches!(self.around(real), Some(What::Read))
    }

    /// Shows a path if it exists on this machine.
    pub(super) fn show_if_there(&mut self, place: &Path, what: What) {
        if place.symlink_metadata().is_ok() {
            self.show(place, what);
        }
    }

    /// Shows those of these paths that exist below a directory, which is read once.
    pub(super) fn show_listed(&mut self, folder: &Path, names: &[&str]) {
        let listed = self.list(folder);
        for name in names {
            let first = name.split('/').next().unwrap_or(name);
            match &listed {
                Some(listed) if !listed.contains(OsStr::new(first)) => {}
                Some(_) if first == *name => drop(self.show(&folder.join(name), What::Read)),
                _ => self.show_if_there(&folder.join(name), What::Read),
            }
        }
    }

    /// Remembers that there is no symlink at a real path.
    pub(super) fn is_no_link(&mut self, place: PathBuf) {
        self.links.insert(place, None);
    }

    /// Returns the names in a real directory, and remembers which of them are no symlinks.
    fn list(&mut self, folder: &Path) -> Option<HashSet<OsString>> {
        let mut names = HashSet::new();
        for entry in fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            if !entry.file_type().ok()?.is_symlink() {
                self.is_no_link(entry.path());
            }
            names.insert(entry.file_name());
        }
        Some(names)
    }

    /// Shows a path at its real location, with the symlinks on the way. Returns the real path.
    pub(super) fn show(&mut self, place: &Path, what: What) -> Option<PathBuf> {
        let mut links = Vec::new();
        let real = self.resolve(place, &mut links)?;
        for link in links {
            // Paths are compared by name first: comparing them by component takes long, and there are hundreds.
            let is_same = |entry: &Entry| entry.at.as_os_str() == link.at.as_os_str() && *entry == link;
            if !self.entries.iter().any(is_same) {
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
        if real.parent().is_some() && is_needed && !is_in(&real, Path::new(PROC)) {
            self.entries.push(Entry { at: real.clone(), what });
        }
        Some(real)
    }

    /// Returns the innermost entry that contains a real path.
    fn around(&self, real: &Path) -> Option<&What> {
        let covers = |entry: &&Entry| !matches!(entry.what, What::Link { .. }) && is_in(real, &entry.at);
        self.entries.iter().rfind(covers).map(|entry| &entry.what)
    }

    /// Resolves a path. Appends the symlinks on the way to `found`. `None` if a symlink may be planted.
    fn resolve(&mut self, place: &Path, found: &mut Vec<Entry>) -> Option<PathBuf> {
        let mut followed = 0;
        let mut real = PathBuf::from("/");
        let mut rest = plain(place);
        while let Some(name) = rest.pop() {
            let next = real.join(&name);
            // The sandbox has its own `/proc` with its own symlinks, such as the target of `/etc/mtab`.
            if is_in(&next, Path::new(PROC)) {
                real = next;
                continue;
            }
            let link = self.links.entry(next.clone()).or_insert_with(|| fs::read_link(&next).ok());
            match link {
                Some(to) if followed < MOST_LINKS => {
                    if self.written.iter().any(|folder| is_in(&next, folder)) {
                        return None;
                    }
                    followed += 1;
                    rest.append(&mut plain(&real.join(&to)));
                    found.push(Entry { at: next, what: What::Link { to: to.clone() } });
                    real = PathBuf::from("/");
                }
                _ => real = next,
            }
        }
        Some(real)
    }
}

/// Returns whether a path is `folder` or below it. Compares bytes, as both are normalized and this runs thousands of
/// times.
pub(crate) fn is_in(place: &Path, folder: &Path) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlinks_into_proc_are_shown_and_not_resolved() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(place.path()).expect("a folder");
        let mtab = folder.join("mtab");
        std::os::unix::fs::symlink("/proc/self/mounts", &mtab).expect("a symlink");
        let mut view = View::new();
        view.show(&mtab, What::Read);
        let to = PathBuf::from("/proc/self/mounts");
        assert_eq!(view.entries, [Entry { at: mtab, what: What::Link { to } }]);
    }

    #[test]
    fn a_symlink_in_a_folder_that_programs_write_to_is_not_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(place.path()).expect("a folder");
        let (shown, cache) = (folder.join("shown"), folder.join("cache"));
        for folder in [&shown, &cache] {
            fs::create_dir(folder).expect("a folder");
        }
        std::os::unix::fs::symlink(&shown, cache.join("planted")).expect("a symlink");
        let mut view = View::new();
        assert_eq!(view.show(&cache.join("planted"), What::Read), Some(shown.clone()));
        view.distrust(&cache);
        assert_eq!(view.show(&cache.join("planted"), What::Read), None);
    }
}
