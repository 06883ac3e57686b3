//! Cache files of gates in acquit's folder, where no agent and no gate can write. All of them can be computed again, so
//! an unreadable file counts as missing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::process::Identity;
use crate::untrusted;

/// Reads a file of at most this size.
pub(super) fn load<T: for<'a> Deserialize<'a>>(file: &Path, largest: u64) -> Option<T> {
    let text = untrusted::text(file, largest).ok()??;
    serde_json::from_str(&text).ok()
}

/// Removes incomplete files of harnesses that were killed.
pub(crate) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sweep(&path);
        } else if writer(&path).is_some_and(|pid| !matches!(Identity::of(pid), Ok(Some(_)))) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns the process that is writing an incomplete file.
fn writer(path: &Path) -> Option<i32> {
    let (rest, _) = path.file_name()?.to_str()?.rsplit_once(".new")?;
    rest.rsplit_once('.')?.1.parse().ok()
}

/// Writes a file atomically. If two harnesses write the same file, each writes its own copy, and the last one remains.
pub(super) fn save<T: Serialize>(file: &Path, value: &T) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = file.with_extension(format!("{}.new", std::process::id()));
    fs::write(&aside, serde_json::to_vec(value)?)?;
    fs::rename(&aside, file)
}

/// Removes the oldest files to make room for one more.
pub(super) fn prune(folder: &Path, most: usize) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let mut all: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        if let Ok(changed) = entry.metadata().and_then(|meta| meta.modified()) {
            all.push((changed, entry.path()));
        }
    }
    all.sort();
    let over = (all.len() + 1).saturating_sub(most);
    for (_, path) in all.into_iter().take(over) {
        // Another harness may have removed it already.
        let _ = fs::remove_file(path);
    }
    Ok(())
}
