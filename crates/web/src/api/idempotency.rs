//! Idempotency keys: a request that is repeated with the same `Idempotency-Key` is done once.
//!
//! Each key of each caller is a file. Its first line says which request it is for and which task id was reserved for it; it is written before
//! anything is done. Its second line is the answer. Whoever works on it holds the file's lock, which the kernel gives back when
//! the server dies. A key without an answer belongs to a server that died: the request is done again, a new task under the
//! reserved id, so there is one. Everything else that the API does is refused by the task's state when it is done already.

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

/// The longest key.
pub const LONGEST: usize = 255;
/// How long a key is kept.
const LIFE: Duration = Duration::from_hours(24);
/// The longest file that is read: a task in full fits in.
const FILE: u64 = 16 * 1024 * 1024;

/// What is known of a key.
pub enum Known {
    /// It is new, or its server died: do it, then [`Claim::keep`] the answer.
    Do(Claim),
    /// It was done: this is the answer.
    Done(u16, Value),
    /// It is being done.
    Busy,
    /// It belongs to another request.
    Other,
}

/// The right to do what a key is for.
pub struct Claim {
    file: File,
    /// The id that is reserved for a new task.
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

/// Looks up a key of a caller. `reserve` gives an id for a task where the request makes one.
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
            // The beginning of an answer may be there.
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
    /// Keeps the answer.
    pub fn keep(mut self, status: u16, body: &Value) -> std::io::Result<()> {
        let answer = Answer { status, body: body.clone() };
        let line = serde_json::to_string(&answer).map_err(std::io::Error::other)?;
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.file.sync_data()
    }
}

/// What a request is, in short.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

/// Removes keys of yesterday. What cannot be removed is tried again another time.
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

    /// When the files are written.
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
        // The server dies while it writes the answer: another one does it under the same id.
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
        // A day later the key is forgotten.
        let moment = Duration::from_millis(now().0.unsigned_abs());
        let old = SystemTime::UNIX_EPOCH + moment - LIFE - Duration::from_secs(1);
        File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        drop(claim(&files, "new", "r"));
        assert!(!path.exists());
    }
}
