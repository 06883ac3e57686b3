//! The audit log: every write that somebody asked for, with who did. The events of a task carry the same name; this file also has what was
//! refused and what concerns no task.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Files};

/// Beyond this the file is put aside, in place of the one before.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// Who: the name of the token, or of the user.
    pub actor: String,
    /// What they may do.
    pub role: String,
    /// The method and the path.
    pub request: String,
    /// The HTTP status of the answer.
    pub status: u16,
}

/// Adds a line. One that cannot be written does not undo what was done; the caller warns.
pub fn write(
    files: &Files,
    at: Timestamp,
    caller: &Caller,
    request: String,
    status: u16,
) -> std::io::Result<()> {
    files.make()?;
    let path = files.audit();
    if fs::metadata(&path).is_ok_and(|about| about.len() > LARGEST) {
        fs::rename(&path, path.with_extension("jsonl.1"))?;
    }
    let entry =
        Entry { at, actor: caller.name.clone(), role: caller.role.name().to_owned(), request, status };
    let line = serde_json::to_string(&entry).map_err(std::io::Error::other)?;
    let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    // In one call, so that two writers do not mix their lines.
    file.write_all(format!("{line}\n").as_bytes())
}

/// The newest entries, newest first.
pub fn newest(files: &Files, limit: usize) -> std::io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for path in [files.audit(), files.audit().with_extension("jsonl.1")] {
        match fs::read_to_string(&path) {
            Ok(text) => {
                let lines = text.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
                all.extend(lines.take(limit - all.len()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}
