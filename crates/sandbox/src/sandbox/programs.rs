//! Shows programs outside the system directories: those in `PATH`, and others that a leg starts by path.
//!
//! A program rarely works alone. `bin/node` needs `lib` next to it, a link in `~/.local/bin` points to a version in
//! `~/.local/share`, a script in `node_modules/.bin` needs the packages. So follow symlinks, and show what a program
//! needs according to the kind of its location. Never show the directory that merely contains it: that may be a
//! checkout with an `.env`, or `~/Documents`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::What;
use super::system::SYSTEM;
use super::view::{View, is_in};

/// Parts of an installation prefix that belong to its programs.
const PREFIX: [&str; 8] = ["bin", "sbin", "lib", "lib64", "libexec", "include", "share", ENVIRONMENT];
/// The file that marks a Python virtual environment. Such a directory counts as an installation anywhere, also in a
/// checkout.
const ENVIRONMENT: &str = "pyvenv.cfg";
/// Directories of a version manager: its `PATH` directory, and the versions that those programs start.
const SHIMS: &str = "shims";
const VERSIONS: &str = "versions";
/// The directory of Node.js packages.
const MODULES: &str = "node_modules";
/// Maximum number of entries of a directory to inspect. More than any directory of programs has.
const MOST: usize = 4_000;

/// Adds programs to a view.
pub(super) struct Programs<'a> {
    view: &'a mut View,
    /// The user's home directory.
    home: &'a Path,
    /// The home and the directory that belongs to acquit, as they are written and as they really are.
    private: [PathBuf; 4],
    /// Directories whose programs were shown with what they need.
    shown: HashSet<PathBuf>,
    /// Which directories are in a checkout.
    checkouts: HashMap<PathBuf, bool>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(view: &'a mut View, home: &'a Path, own: &Path) -> Self {
        let real = |place: &Path| fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let private = [home.to_owned(), real(home), own.to_owned(), real(own)];
        Self { view, home, private, shown: HashSet::new(), checkouts: HashMap::new() }
    }

    /// Shows the programs of each directory in a list such as `PATH`.
    pub(super) fn of_path(&mut self, path: Option<&OsStr>) {
        let list: Vec<PathBuf> = path.map(std::env::split_paths).into_iter().flatten().collect();
        let mut seen = BTreeSet::new();
        for folder in list {
            if folder.is_absolute() && !is_system(&folder) && seen.insert(folder.clone()) {
                self.of_folder(&folder);
            }
        }
    }

    fn of_folder(&mut self, folder: &Path) {
        let Ok(real) = fs::canonicalize(folder) else { return };
        if is_system(&real) {
            // Only the symlinks to it are missing.
            self.view.show(folder, What::Read);
            return;
        }
        if !real.is_dir() || self.is_too_much(&real) {
            return;
        }
        let entries = fs::read_dir(&real).into_iter().flatten().flatten().take(MOST);
        let mut entries: Vec<(PathBuf, bool)> = entries
            .map(|entry| {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !is_link {
                    self.view.is_no_link(entry.path());
                }
                (folder.join(entry.file_name()), is_link)
            })
            .collect();
        entries.sort();
        let is_installed = is_environment(&real) || is_shims(&real) || !self.is_in_checkout(&real);
        // One directory is shown sooner than a hundred files.
        let all_programs = || is_bin(&real) || entries.iter().all(|(entry, _)| is_program(entry));
        if self.view.shows(&real) || (is_installed && all_programs()) {
            self.view.show(folder, What::Read);
            if is_installed && is_bin(&real) {
                self.prefix(&real);
            }
            // The directory itself is shown; only symlinks lead elsewhere.
            entries.retain(|(_, is_link)| *is_link);
        }
        for (program, _) in entries.iter().filter(|(entry, _)| is_program(entry)) {
            self.program(program);
        }
    }

    /// Shows a program and the files it needs.
    pub(super) fn program(&mut self, program: &Path) {
        let Some(real) = self.view.show(program, What::Read) else { return };
        if is_system(&real) {
            return;
        }
        if let Some(modules) = modules(&real) {
            self.view.show(&modules, What::Read);
            return;
        }
        let Some(folder) = real.parent() else { return };
        if !self.shown.insert(folder.to_owned())
            || self.is_too_much(folder)
            || (self.is_in_checkout(folder) && !is_environment(folder))
        {
            return;
        }
        if is_bin(folder) {
            self.view.show(folder, What::Read);
            self.prefix(folder);
        } else if self.is_version(folder) {
            self.view.show(folder, What::Read);
        }
    }

    /// Shows the files that belong to programs next to a `bin` directory.
    fn prefix(&mut self, bin: &Path) {
        let Some(prefix) = bin.parent() else { return };
        // A home has a `bin` and much else. The shared parts of `~/.local` are listed with the toolchains.
        if self.is_too_much(prefix) || prefix == self.home.join(".local") || !looks_like_a_prefix(prefix) {
            return;
        }
        for name in PREFIX {
            self.view.show_if_there(&prefix.join(name), What::Read);
        }
    }

    /// Returns whether a directory is a version of an application, such as `~/.local/share/claude/versions`: inside
    /// an application's own directory, in a place that has only applications. The application's directory itself may
    /// contain its credentials.
    fn is_version(&self, folder: &Path) -> bool {
        let places = [".local/share", ".local/opt", ".local/lib"].map(|name| self.home.join(name));
        let depth = |place: &PathBuf| folder.strip_prefix(place).map_or(0, |rest| rest.components().count());
        places.iter().any(|place| depth(place) >= 2)
    }

    /// Returns whether a directory contains more than programs: the home, acquit's directory, or a parent of them.
    fn is_too_much(&self, folder: &Path) -> bool {
        let [.., own, real_own] = &self.private;
        self.private.iter().any(|place| place.starts_with(folder))
            || folder.starts_with(own)
            || folder.starts_with(real_own)
            || folder.parent().is_none()
    }

    /// Returns whether a directory is in a checkout. A home that is one itself, for its dotfiles, does not count.
    fn is_in_checkout(&mut self, folder: &Path) -> bool {
        if self.home.starts_with(folder) {
            return false;
        }
        if let Some(known) = self.checkouts.get(folder) {
            return *known;
        }
        let has = |name: &&str| folder.join(name).symlink_metadata().is_ok();
        let is = [".git", ".jj", ".hg", ".svn"].iter().any(has)
            || folder.parent().is_some_and(|parent| self.is_in_checkout(parent));
        self.checkouts.insert(folder.to_owned(), is);
        is
    }
}

fn is_system(place: &Path) -> bool {
    SYSTEM.iter().any(|system| is_in(place, Path::new(system)))
}

fn is_bin(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "bin" || name == "sbin")
}

/// Returns whether a directory is the `bin` of a Python virtual environment.
fn is_environment(folder: &Path) -> bool {
    is_bin(folder) && folder.parent().is_some_and(|prefix| prefix.join(ENVIRONMENT).is_file())
}

/// Returns whether a directory has the shims of a version manager such as pyenv, which is usually a checkout itself. It
/// writes one for every program of every version: often hundreds, each of which would be a mount.
fn is_shims(folder: &Path) -> bool {
    let versions = folder.parent().map(|root| root.join(VERSIONS));
    folder.file_name().is_some_and(|name| name == SHIMS) && versions.is_some_and(|folder| folder.is_dir())
}

/// Returns whether a `bin` belongs to an installation: most have libraries or manuals next to it, a project has
/// sources.
fn looks_like_a_prefix(folder: &Path) -> bool {
    ["lib", "lib64", "libexec", "share", "include"].iter().any(|name| folder.join(name).is_dir())
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// Returns the packages that a Node.js program needs: only its own directory if it is installed globally, else all of
/// them, because packages of one project are side by side.
fn modules(program: &Path) -> Option<PathBuf> {
    let outermost = program.ancestors().filter(|folder| folder.ends_with(MODULES)).last()?;
    // pnpm keeps packages in `.pnpm`, next to or in the outermost `node_modules`.
    if let Some(store) = program.ancestors().filter(|folder| folder.ends_with(".pnpm")).last() {
        return Some(if store.starts_with(outermost) { outermost } else { store }.to_owned());
    }
    let is_global = outermost.parent().is_some_and(|parent| parent.ends_with("lib"));
    if !is_global {
        return Some(outermost.to_owned());
    }
    let mut names = program.strip_prefix(outermost).ok()?.components();
    let first = outermost.join(names.next()?);
    let is_scope = first.file_name()?.to_string_lossy().starts_with('@');
    Some(if is_scope { first.join(names.next()?) } else { first })
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn write_program(file: &Path) {
        fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
        fs::write(file, "#!/bin/sh\n").expect("a program");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    fn shown(home: &Path, visible: &[&Path], path: &str) -> Vec<Entry> {
        let mut view = View::new();
        for place in visible {
            view.show(place, What::Read);
        }
        Programs::new(&mut view, home, &home.join(".acquit")).of_path(Some(OsStr::new(path)));
        view.entries
    }

    #[test]
    fn programs_of_a_checkout_are_shown_one_by_one_unless_their_directory_is_visible() {
        let place = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(place.path()).expect("a folder").join("home");
        let pyenv = home.join(".pyenv");
        let (shims, tool) = (pyenv.join("shims"), home.join("opt/tool/bin/tool"));
        fs::create_dir_all(pyenv.join(".git")).expect("a folder");
        for name in ["pip", "python"] {
            write_program(&shims.join(name));
        }
        write_program(&tool);
        symlink(&tool, shims.join("tool")).expect("a symlink");
        let path = shims.display().to_string();
        let link = Entry { at: shims.join("tool"), what: What::Link { to: tool.clone() } };

        let beside = [Entry::read(shims.join("pip")), Entry::read(shims.join("python"))];
        let linked = [link, Entry::read(&tool), Entry::read(tool.parent().expect("a parent"))];
        let expected: Vec<Entry> = beside.into_iter().chain(linked.clone()).collect();
        assert_eq!(shown(&home, &[], &path), expected);

        // So is the shims directory of a version manager, as long as it contains only programs.
        fs::create_dir(pyenv.join("versions")).expect("a folder");
        let whole: Vec<Entry> = [Entry::read(&shims)].into_iter().chain(linked.clone()).collect();
        assert_eq!(shown(&home, &[], &path), whole);
        fs::write(shims.join(".env"), "TOKEN=1").expect("a file");
        assert_eq!(shown(&home, &[], &path), expected);

        // A version manager's directory is visible as a whole; only the symlink leads elsewhere.
        let expected: Vec<Entry> = [Entry::read(&shims)].into_iter().chain(linked).collect();
        assert_eq!(shown(&home, &[&shims], &path), expected);
    }
}
