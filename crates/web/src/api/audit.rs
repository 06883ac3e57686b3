//! The audit log: every write request with its caller. The events of a task contain the same name; this file also has
//! rejected requests and those without a task.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Files};

/// Maximum size of the file. Beyond that it is rotated, and replaces the previous one.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A write request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Time.
    pub at: Timestamp,
    /// Name of the token or the user.
    pub actor: String,
    /// Role of the actor.
    pub role: String,
    /// Method and path.
    pub request: String,
    /// HTTP status of the response.
    pub status: u16,
}

/// Appends a line. A failure does not undo the action; the caller warns about it.
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
    // Write in one call, so that concurrent writers don't mix their lines.
    file.write_all(format!("{line}\n").as_bytes())
}

/// Returns the newest entries, newest first.
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
