//! Which file a program's name means.
//!
//! Relative and empty entries of `PATH` are passed over: they would let a file in the working directory, which belongs
//! to an agent, stand in for a program that somebody else meant.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for when the environment names no `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// The files that `program` can mean, in the order in which they are to be tried.
pub(super) fn candidates(program: &OsStr, path: Option<&OsStr>) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    if program.is_empty() {
        return Vec::new();
    }
    path.unwrap_or(OsStr::new(DEFAULT_PATH))
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|entry| entry.is_absolute())
        .map(|entry| entry.join(program))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(program: &str, path: Option<&str>, expected: &[&str]) {
        let found = candidates(OsStr::new(program), path.map(OsStr::new));
        assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_name_is_looked_up_in_absolute_entries_only() {
        check("git", Some("/a:/b"), &["/a/git", "/b/git"]);
        check("git", Some(":.:bin:/b"), &["/b/git"]);
        check("git", None, &["/usr/bin/git", "/bin/git"]);
        check("git", Some(""), &[]);
        check("", Some("/a"), &[]);
    }

    #[test]
    fn a_path_is_itself() {
        check("./git", Some("/a"), &["./git"]);
        check("/x/git", None, &["/x/git"]);
    }
}
