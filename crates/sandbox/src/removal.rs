//! Removes and measures directories that sandboxed programs wrote to, of any depth and with any permissions.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Removes the file or directory at `path`. Removes a symlink itself, not its target. Does nothing if `path` is
/// missing.
pub fn remove(path: &Path) -> io::Result<()> {
    let result = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => remove_folder(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    gone(result)
}

/// Removes a directory of any depth with a bounded stack: moves everything deeper than [`LEVELS`] up first. No
/// process may still be writing to it.
fn remove_folder(root: &Path) -> io::Result<()> {
    let mut later = vec![root.to_owned()];
    let mut moved = 0;
    while let Some(folder) = later.last().cloned() {
        let before = later.len();
        empty(&folder, 0, root, &mut later, &mut moved)?;
        if later.len() == before {
            later.pop();
            gone(fs::remove_dir(&folder))?;
        }
    }
    Ok(())
}

/// The depth at which a removal moves entries up instead of recursing; more than trees usually have.
const LEVELS: usize = 64;

fn empty(
    folder: &Path,
    level: usize,
    root: &Path,
    later: &mut Vec<PathBuf>,
    moved: &mut u64,
) -> io::Result<()> {
    for entry in opened(folder, || fs::read_dir(folder))? {
        let path = entry?.path();
        let meta = match opened(folder, || fs::symlink_metadata(&path)) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        if !meta.is_dir() {
            gone(opened(folder, || fs::remove_file(&path)))?;
        } else if level < LEVELS {
            empty(&path, level + 1, root, later, moved)?;
            gone(opened(folder, || fs::remove_dir(&path)))?;
        } else {
            let mut up = root.to_owned();
            while up.symlink_metadata().is_ok() {
                *moved += 1;
                up = root.join(format!("removing-{moved}"));
            }
            opened(&path, || opened(folder, || fs::rename(&path, &up)))?;
            later.push(up);
        }
    }
    Ok(())
}

/// Runs `act` on `folder`. On "permission denied", restores the owner's permissions and retries, because the
/// sandboxed program may have removed them.
fn opened<T>(folder: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match act() {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
            act()
        }
        other => other,
    }
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns the disk usage of a directory, in bytes. Best effort: skips entries that an agent removes or makes
/// unreadable meanwhile, and entries too deep for a path.
pub fn size(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            sum += meta.blocks() * 512;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}
