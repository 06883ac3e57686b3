//! Chooses where temporary data goes: memory if there is room, else the disk. Reports which.
//!
//! The choice matters: on some root file systems, creating a file costs a hundred times as much as on tmpfs, and a
//! benchmark that does not say where it ran cannot be compared.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::{Stop, shell};

/// Free memory required: containers often give `/dev/shm` only 64 MB, too little for a database.
const ROOM: u64 = 2 * 1024 * 1024 * 1024;

/// Free memory required for the files of all tests: those that run compilers need gigabytes at a time.
const ROOM_OF_TESTS: u64 = 3 * ROOM;

/// The usual tmpfs on Linux.
const MEMORY: &str = "/dev/shm";

/// The medium of a scratch directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A tmpfs.
    Memory,
    /// The system's directory for temporary files, on any file system.
    Disk,
}

impl Medium {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "tmpfs",
            Self::Disk => "disk",
        }
    }
}

/// Creates a directory that is removed when dropped. Also returns its medium.
pub(crate) fn folder(prefix: &str) -> Result<(TempDir, Medium), Stop> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        builder
    };
    if room_in(Path::new(MEMORY)).is_some_and(|free| free >= ROOM)
        && let Ok(dir) = builder().tempdir_in(MEMORY)
    {
        return Ok((dir, Medium::Memory));
    }
    let dir = builder().tempdir().map_err(Stop::doing("make a folder for temporary files"))?;
    Ok((dir, Medium::Disk))
}

/// Mounts a tmpfs on `$1` that only this process and its children see, and executes the other arguments with their
/// temporary files there.
const ON_TMPFS: &str = r#"
mount -t tmpfs -o mode=1777 acquit-tests "$1" && TMPDIR=$1 && export TMPDIR && shift && exec "$@"
"#;

/// Runs the command with its temporary files in memory, if the caller may mount a tmpfs. Tests that create thousands of
/// small repositories and databases need a third less CPU time there, and never wait for the disk. Uses a separate tmpfs,
/// because acquit refuses to let agents write below `/dev`. The mount is in a namespace of the command and goes away with
/// its last process; the empty directory below it goes away with the returned value.
pub(crate) fn in_memory(command: Command) -> Result<(Command, Option<TempDir>), Stop> {
    let doing = "make a folder for the tests";
    let folder = tempfile::Builder::new().prefix("acquit-").tempdir().map_err(Stop::doing(doing))?;
    let wrap = |inner: &Command| {
        let mut outer = shell::program("unshare");
        outer.args(["--mount", "--propagation", "private", "sh", "-c", ON_TMPFS, "sh"]).arg(folder.path());
        outer.arg(inner.get_program()).args(inner.get_args());
        outer
    };
    let enough = room_in(Path::new(MEMORY)).is_some_and(|free| free >= ROOM_OF_TESTS);
    if !enough || shell::first_line(&mut wrap(&shell::program("true"))).is_none() {
        return Ok((command, None));
    }
    let mut wrapped = wrap(&command);
    if let Some(place) = command.get_current_dir() {
        wrapped.current_dir(place);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    Ok((wrapped, Some(folder)))
}

fn room_in(path: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_memory_is_the_same_command_and_leaves_nothing() {
        let mut command = shell::program("sh");
        command.args([
            "-c",
            "echo \"$KEPT-$GONE-$0-$(pwd)\"; : > \"${TMPDIR:-/tmp}/acquit-file-of-this-test\"",
            "a b",
        ]);
        command.env("KEPT", "kept").env_remove("GONE").current_dir("/");
        let (mut command, folder) = in_memory(command).expect("a folder");
        let said = shell::first_line(&mut command);
        assert_eq!(said.as_deref(), Some("kept--a b-/"));
        if let Some(folder) = folder {
            let left = std::fs::read_dir(folder.path()).expect("it is there").count();
            assert_eq!(left, 0, "its files are seen outside");
        } else {
            std::fs::remove_file("/tmp/acquit-file-of-this-test").expect("written there");
        }
    }
}
