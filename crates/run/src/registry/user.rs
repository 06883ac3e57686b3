//! The user's side of client configuration: the environment, and files in the home and of the machine.

use std::path::{Path, PathBuf};

use crate::untrusted;
use acquit_sandbox::environment::Environment;

/// Maximum size of a settings file. A larger file is something else.
const LARGEST: u64 = 1 << 20;

/// The user whose package managers are configured.
#[derive(Clone, Copy)]
pub struct User<'a> {
    environment: &'a Environment,
    /// Root directory of the machine's own files.
    root: &'a Path,
}

impl<'a> User<'a> {
    /// Creates the user of this environment.
    pub fn new(environment: &'a Environment) -> Self {
        Self { environment, root: Path::new("/") }
    }

    /// Does the same on a machine whose files are in a directory.
    #[cfg(test)]
    pub(super) fn on(environment: &'a Environment, root: &'a Path) -> Self {
        Self { environment, root }
    }

    /// Returns a file of the machine, such as `etc/npmrc`.
    pub(super) fn machine(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the first of these variables that is not empty.
    pub(super) fn variable<'n>(&self, names: &[&'n str]) -> Option<(&'n str, String)> {
        names.iter().find_map(|name| {
            let value = self.environment.get(name)?.to_str()?.trim();
            (!value.is_empty()).then(|| (*name, value.to_owned()))
        })
    }

    /// Returns a path in the home.
    pub(super) fn home(&self, name: &str) -> Option<PathBuf> {
        Some(self.environment.home()?.join(name))
    }

    /// Returns a path in the configuration directory.
    pub(super) fn config(&self, name: &str) -> Option<PathBuf> {
        match self.variable(&["XDG_CONFIG_HOME"]) {
            Some((_, folder)) => Some(PathBuf::from(folder).join(name)),
            None => self.home(&format!(".config/{name}")),
        }
    }

    /// Returns the parent of the directory that contains a program: where an installation keeps its own settings.
    pub(super) fn prefix_of(&self, program: &str) -> Option<PathBuf> {
        let found = crate::process::in_path(self.environment.get("PATH")?, program)?;
        Some(found.parent()?.parent()?.to_owned())
    }

    /// Returns the name of a user's file for messages.
    pub(super) fn shown(&self, path: &Path) -> String {
        let below = self.environment.home().and_then(|home| path.strip_prefix(home).ok());
        below.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
    }

    /// Returns the text of a settings file, if it exists.
    pub(super) fn text(path: &Path) -> Option<String> {
        let real = path.canonicalize().ok()?;
        untrusted::text(&real, LARGEST).ok().flatten()
    }

    /// Returns the readable files among these, with their names for messages.
    pub(super) fn files(&self, paths: impl IntoIterator<Item = Option<PathBuf>>) -> Vec<(String, String)> {
        let read = |path: PathBuf| Some((self.shown(&path), Self::text(&path)?));
        paths.into_iter().flatten().filter_map(read).collect()
    }
}
