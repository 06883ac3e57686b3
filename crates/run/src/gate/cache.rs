//! Files in which gates keep what they found out, below the folder of acquit, where no agent and no gate can write. All of them can be
//! found out again: one that cannot be read is one that is not there.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::process::Identity;
use crate::untrusted;

/// Reads one that is not larger than this.
pub(super) fn load<T: for<'a> Deserialize<'a>>(file: &Path, largest: u64) -> Option<T> {
    let text = untrusted::text(file, largest).ok()??;
    serde_json::from_str(&text).ok()
}

/// Removes the files that a harness was writing when it was killed.
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

/// The process that writes a file which is not whole yet.
fn writer(path: &Path) -> Option<i32> {
    let (rest, _) = path.file_name()?.to_str()?.rsplit_once(".new")?;
    rest.rsplit_once('.')?.1.parse().ok()
}

/// Writes one as a whole. Two harnesses may write the same one at once: each its own, and the last one stays.
pub(super) fn save<T: Serialize>(file: &Path, value: &T) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = file.with_extension(format!("{}.new", std::process::id()));
    fs::write(&aside, serde_json::to_vec(value)?)?;
    fs::rename(&aside, file)
}

/// Makes room for one more file by removing the oldest.
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
