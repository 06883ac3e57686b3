//! Files in which gates keep what they found out, below the folder of acquit, where no agent and no gate can write. All of them can be
//! found out again: one that cannot be read is one that is not there.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::untrusted;

/// Reads one that is not larger than this.
pub(super) fn load<T: for<'a> Deserialize<'a>>(file: &Path, largest: u64) -> Option<T> {
    let text = untrusted::text(file, largest).ok()??;
    serde_json::from_str(&text).ok()
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
