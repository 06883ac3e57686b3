//! Idempotency keys: performs an HTTP request with the same `Idempotency-Key` only once.
//!
//! Each key of each caller is a file. Its first line identifies the HTTP request and the task id reserved for it, and
//! is written before anything is done. Its second line is the response. A server that works on the request holds a lock
//! on the file, which the kernel releases when the server dies. A key without a response belongs to a server that died:
//! the request is performed again, with the reserved id for a new task, so that there is only one. Any other action of
//! the API is rejected by the task's state if it was already done.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::time::{Duration, SystemTime};

use acquit_core::ids::TaskId;
use acquit_core::time::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::access::{Files, hex};

/// Maximum length of a key.
pub const LONGEST: usize = 255;
/// Lifetime of a key.
const LIFE: Duration = Duration::from_hours(24);
/// Maximum file size to read. Large enough for a full task.
const FILE: u64 = 16 * 1024 * 1024;

/// State of a key.
pub enum Known {
    /// The key is new, or its server died: perform the request, then [`Claim::keep`] the response.
    Do(Claim),
    /// The request was performed, with this response.
    Done(u16, Value),
    /// The request is in progress.
    Busy,
    /// The key belongs to another request.
    Other,
}

/// The right to perform the request of a key.
pub struct Claim {
    file: File,
    /// The id reserved for a new task.
    pub task: Option<TaskId>,
}

#[derive(Serialize, Deserialize)]
struct Begun {
    request: String,
    task: Option<TaskId>,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    status: u16,
    body: Value,
}

/// Looks up a key of a caller. `reserve` returns an id if the request creates a task.
pub fn begin<E: From<std::io::Error>>(
    files: &Files,
    caller: &str,
    key: &str,
    request: &str,
    now: Timestamp,
    reserve: impl FnOnce() -> Result<Option<TaskId>, E>,
) -> Result<Known, E> {
    let folder = files.keys();
    files.make()?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let path = folder.join(digest(&[caller, key]));
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).read(true).append(true).mode(0o600).open(&path)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(Known::Busy);
    }
    let mut text = String::new();
    Read::by_ref(&mut file).take(FILE).read_to_string(&mut text)?;
    let mut lines = text.lines();
    let begun = lines.next().and_then(|line| serde_json::from_str::<Begun>(line).ok());
    let answer = lines.next().and_then(|line| serde_json::from_str::<Answer>(line).ok());
    match (begun, answer) {
        (Some(begun), _) if begun.request != request => Ok(Known::Other),
        (Some(_), Some(Answer { status, body })) => Ok(Known::Done(status, body)),
        (Some(begun), None) => {
            // The file may contain the start of a response.
            write_anew(&mut file, &begun)?;
            Ok(Known::Do(Claim { file, task: begun.task }))
        }
        (None, _) => {
            sweep(files, now);
            let begun = Begun { request: request.to_owned(), task: reserve()? };
            write_anew(&mut file, &begun)?;
            Ok(Known::Do(Claim { file, task: begun.task }))
        }
    }
}

fn write_anew(file: &mut File, begun: &Begun) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let line = serde_json::to_string(begun).map_err(std::io::Error::other)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

impl Claim {
    /// Stores the response.
    pub fn keep(mut self, status: u16, body: &Value) -> std::io::Result<()> {
        let answer = Answer { status, body: body.clone() };
        let line = serde_json::to_string(&answer).map_err(std::io::Error::other)?;
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.file.sync_data()
    }
}

/// Returns a hash that identifies an HTTP request.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

/// Removes expired keys. Ignores errors: a later sweep tries again.
fn sweep(files: &Files, now: Timestamp) {
    let Ok(entries) = fs::read_dir(files.keys()) else { return };
    let now = Duration::from_millis(now.0.unsigned_abs());
    let Some(oldest) = (SystemTime::UNIX_EPOCH + now).checked_sub(LIFE) else { return };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|about| about.modified());
        if written.is_ok_and(|written| written < oldest) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time at which the files are written.
    fn now() -> Timestamp {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = file.as_file().metadata().unwrap().modified().unwrap();
        let since = written.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(since.as_millis()).unwrap())
    }

    fn claim(files: &Files, key: &str, request: &str) -> Known {
        begin::<std::io::Error>(files, "ci", key, request, now(), || Ok(Some(TaskId(7)))).unwrap()
    }

    #[test]
    fn a_request_is_done_once_whoever_dies() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::below(home.path());
        let Known::Do(first) = claim(&files, "k", "r") else { panic!("new") };
        assert_eq!(first.task, Some(TaskId(7)));
        assert!(matches!(claim(&files, "k", "r"), Known::Busy));
        // The server dies while it writes the response: another one performs the request with the same id.
        drop(first);
        let path = files.keys().join(digest(&["ci", "k"]));
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"status\":20").unwrap();
        let known =
            begin::<std::io::Error>(&files, "ci", "k", "r", now(), || panic!("reserved again")).unwrap();
        let Known::Do(second) = known else { panic!("to be done") };
        assert_eq!(second.task, Some(TaskId(7)));
        second.keep(200, &serde_json::json!({ "id": "T-7" })).unwrap();
        let Known::Done(200, body) = claim(&files, "k", "r") else { panic!("done") };
        assert_eq!(body, serde_json::json!({ "id": "T-7" }));
        assert!(matches!(claim(&files, "k", "other"), Known::Other));
        let other = begin::<std::io::Error>(&files, "eve", "k", "r", now(), || Ok(None)).unwrap();
        assert!(matches!(other, Known::Do(_)), "the key of somebody else");
        // A day later the key has expired.
        let moment = Duration::from_millis(now().0.unsigned_abs());
        let old = SystemTime::UNIX_EPOCH + moment - LIFE - Duration::from_secs(1);
        File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        drop(claim(&files, "new", "r"));
        assert!(!path.exists());
    }
}
