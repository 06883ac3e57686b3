//! The environment that this process was started with, captured once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment that acquit was started in. Has no `Debug`: it is full of secrets.
#[derive(Clone)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Keeps what was captured.
    pub fn new(captured: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(captured.into_iter().collect())
    }

    /// All of it, for another harness.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The user's home, if they have one.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").filter(|home| !home.is_empty()).map(Path::new)
    }

    /// Where a program of the user's runs that is about no folder: at their home, if that is there.
    pub fn home_or_root(&self) -> PathBuf {
        self.home().filter(|home| home.is_dir()).unwrap_or(Path::new("/")).to_owned()
    }

    /// A path of the configuration, which may begin with `~/`. `None` if it does and there is no home.
    pub fn expand(&self, written: &str) -> Option<PathBuf> {
        if written.starts_with("~/") {
            Some(expand(written, self.home()?))
        } else {
            Some(PathBuf::from(written))
        }
    }
}

/// A path of the configuration, which may begin with `~/`, as one of the machine.
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
