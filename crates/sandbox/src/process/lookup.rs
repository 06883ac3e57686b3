//! Finds the executable for a program name.
//!
//! Skips relative and empty entries of `PATH`: with them, a file in the working directory, which an agent controls,
//! could replace the intended program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use acquit_core::gate::Command;

/// The search path if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Returns the files that `program` can refer to, in search order.
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

/// Finds an executable in `path`. Skips relative entries, as their meaning depends on the working directory.
pub fn in_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Returns whether `file` is a regular file with an executable bit.
pub fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// Splits a command into program and arguments. `None` if the command is empty.
pub fn program(command: &Command) -> Option<(OsString, Vec<OsString>)> {
    match command {
        Command::Shell(line) => Some(("sh".into(), vec!["-c".into(), line.into()])),
        Command::Program(words) => {
            let (program, args) = words.split_first()?;
            Some((program.into(), args.iter().map(OsString::from).collect()))
        }
    }
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
