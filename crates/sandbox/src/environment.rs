//! The environment of this process, captured once at start.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment that acquit was started with. Has no `Debug` because it contains secrets.
#[derive(Clone)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Creates an environment from captured variables.
    pub fn new(captured: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(captured.into_iter().collect())
    }

    /// Returns all variables, to pass them to another harness.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the user's home directory. `None` if `HOME` is unset or empty.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").filter(|home| !home.is_empty()).map(Path::new)
    }

    /// Returns a working directory for programs that need no particular one: the home directory if it exists, else
    /// `/`.
    pub fn home_or_root(&self) -> PathBuf {
        self.home().filter(|home| home.is_dir()).unwrap_or(Path::new("/")).to_owned()
    }

    /// Expands a leading `~/` in a configured path. `None` if it has one and there is no home directory.
    pub fn expand(&self, written: &str) -> Option<PathBuf> {
        if written.starts_with("~/") {
            Some(expand(written, self.home()?))
        } else {
            Some(PathBuf::from(written))
        }
    }
}

/// Expands a leading `~/` in a configured path.
pub fn expand(written: &str, home: &Path) -> PathBuf {
    match written.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_home_need_one() {
        let with = |home: &str| Environment::new([("HOME".into(), home.into())]);
        let expanded =
            |environment: &Environment| ["~/a/b", "/a", "a/~/b", "~"].map(|path| environment.expand(path));
        let some = |path: &str| Some(PathBuf::from(path));
        assert_eq!(expanded(&with("/h")), [some("/h/a/b"), some("/a"), some("a/~/b"), some("~")]);
        for without in [with(""), Environment::new([])] {
            assert_eq!(expanded(&without), [None, some("/a"), some("a/~/b"), some("~")]);
            assert_eq!(without.home_or_root(), PathBuf::from("/"));
        }
    }
}
