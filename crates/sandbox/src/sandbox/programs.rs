//! Programs outside of the system's folders: those of `PATH`, and whatever else a leg starts by its path.
//!
//! A program is rarely alone. `bin/node` needs `lib` beside it, a link in `~/.local/bin` leads to a version in `~/.local/share`, a script in
//! `node_modules/.bin` needs the packages. So the links are followed, and what a program needs is shown by the kind of its place,
//! never the folder in which it merely happens to lie: that may be a checkout with an `.env`, or `~/Documents`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::What;
use super::system::SYSTEM;
use super::view::View;

/// What of an installation prefix belongs to its programs.
const PREFIX: [&str; 8] = ["bin", "sbin", "lib", "lib64", "libexec", "include", "share", ENVIRONMENT];
/// The file by which Python knows a virtual environment. Such a folder is an installation wherever it lies, also in a checkout.
const ENVIRONMENT: &str = "pyvenv.cfg";
/// The folder in which packages of Node.js lie.
const MODULES: &str = "node_modules";
/// Entries of one folder that are looked at. More than any folder of programs has.
const MOST: usize = 4_000;

/// Shows programs.
pub(super) struct Programs<'a> {
    pub(super) view: &'a mut View,
    /// The user's home.
    pub(super) home: &'a Path,
    /// The folder that belongs to acquit.
    pub(super) own: &'a Path,
}

impl Programs<'_> {
    /// Shows the programs of each folder in a list such as `PATH`.
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
            // Only its links are missing.
            self.view.show(folder, What::Read);
            return;
        }
        if !real.is_dir() || self.is_too_much(&real) {
            return;
        }
        let entries = fs::read_dir(&real).into_iter().flatten().flatten().take(MOST);
        let mut entries: Vec<PathBuf> = entries.map(|entry| folder.join(entry.file_name())).collect();
        entries.sort();
        let is_bin = is_bin(&real);
        if is_bin && (is_environment(&real) || !self.is_in_checkout(&real)) {
            self.view.show(folder, What::Read);
            self.prefix(&real);
            // Links lead elsewhere; what lies in the folder itself is shown.
            entries.retain(|entry| entry.is_symlink());
        }
        for program in entries.iter().filter(|entry| is_program(entry)) {
            self.program(program);
        }
    }

    /// Shows a program with what it needs.
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
        if self.is_too_much(folder) || (self.is_in_checkout(folder) && !is_environment(folder)) {
            return;
        }
        if is_bin(folder) {
            self.view.show(folder, What::Read);
            self.prefix(folder);
        } else if self.is_version(folder) {
            self.view.show(folder, What::Read);
        }
    }

    /// What is beside a `bin`, as far as it belongs to programs.
    fn prefix(&mut self, bin: &Path) {
        let Some(prefix) = bin.parent() else { return };
        // A home has a `bin` and much else; what programs of `~/.local` share is listed with the toolchains.
        if self.is_too_much(prefix) || prefix == self.home.join(".local") || !looks_like_a_prefix(prefix) {
            return;
        }
        for name in PREFIX {
            self.view.show_if_there(&prefix.join(name), What::Read);
        }
    }

    /// Whether a folder is one version of an application, as `~/.local/share/claude/versions`: below a folder of its own in a place
    /// where only applications are. The application's folder itself may have its login.
    fn is_version(&self, folder: &Path) -> bool {
        let places = [".local/share", ".local/opt", ".local/lib"].map(|name| self.home.join(name));
        let depth = |place: &PathBuf| folder.strip_prefix(place).map_or(0, |rest| rest.components().count());
        places.iter().any(|place| depth(place) >= 2)
    }

    /// Whether a folder holds what no program needs: the home, acquit's own, or what is around them.
    fn is_too_much(&self, folder: &Path) -> bool {
        let around = |place: &Path| {
            place.starts_with(folder) || fs::canonicalize(place).is_ok_and(|place| place.starts_with(folder))
        };
        around(self.home) || around(self.own) || folder.starts_with(self.own) || folder.parent().is_none()
    }

    /// Whether a folder is in somebody's checkout. A home that is one itself, for its dotfiles, does not count.
    fn is_in_checkout(&self, folder: &Path) -> bool {
        let inside = folder.ancestors().take_while(|folder| !self.home.starts_with(folder));
        let has = |folder: &Path, name| folder.join(name).symlink_metadata().is_ok();
        inside.into_iter().any(|folder| [".git", ".jj", ".hg", ".svn"].iter().any(|name| has(folder, name)))
    }
}

fn is_system(place: &Path) -> bool {
    SYSTEM.iter().any(|system| place.starts_with(system))
}

fn is_bin(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "bin" || name == "sbin")
}

/// Whether a folder is the `bin` of a virtual environment of Python.
fn is_environment(folder: &Path) -> bool {
    is_bin(folder) && folder.parent().is_some_and(|prefix| prefix.join(ENVIRONMENT).is_file())
}

/// Whether what is around a `bin` is an installation: most have libraries or manuals beside their programs, a project has sources.
fn looks_like_a_prefix(folder: &Path) -> bool {
    ["lib", "lib64", "libexec", "share", "include"].iter().any(|name| folder.join(name).is_dir())
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// The packages that a program of Node.js needs: its own folder where all were installed globally, otherwise all of them,
/// because packages of one project lie side by side.
fn modules(program: &Path) -> Option<PathBuf> {
    let outermost = program.ancestors().filter(|folder| folder.ends_with(MODULES)).last()?;
    // pnpm keeps packages in `.pnpm`, beside or in the outermost `node_modules`.
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
