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

/// A place in the log: the time of an entry, and how many entries of that time are at or before the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    at: Timestamp,
    seen: usize,
}

impl Cursor {
    /// Parses a cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let (at, seen) = text.split_once('-')?;
        Some(Self { at: Timestamp(at.parse().ok()?), seen: seen.parse().ok()? })
    }

    /// Returns the cursor as text.
    pub fn text(self) -> String {
        format!("{}-{}", self.at.0, self.seen)
    }
}

/// Returns the newest entries after a place, newest first, and the place of the next ones, if there are more. Entries
/// that are written meanwhile do not move it.
pub fn newest(
    files: &Files,
    after: Option<Cursor>,
    limit: usize,
) -> std::io::Result<(Vec<Entry>, Option<Cursor>)> {
    let mut all: Vec<Entry> = Vec::new();
    let mut skip = after.map_or(0, |cursor| cursor.seen);
    for path in [files.audit(), files.audit().with_extension("jsonl.1")] {
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            text => text?,
        };
        for entry in text.lines().rev().filter_map(|line| serde_json::from_str::<Entry>(line).ok()) {
            match after {
                Some(after) if entry.at > after.at => continue,
                Some(after) if entry.at == after.at && skip > 0 => {
                    skip -= 1;
                    continue;
                }
                _ => all.push(entry),
            }
            if all.len() > limit {
                break;
            }
        }
        if all.len() > limit {
            break;
        }
    }
    let more = all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(|last| {
        let same = all.iter().filter(|entry| entry.at == last.at).count();
        let before = after.filter(|after| after.at == last.at).map_or(0, |after| after.seen);
        Cursor { at: last.at, seen: same + before }
    });
    Ok((all, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    #[test]
    fn pages_have_every_entry_once_also_across_files_and_within_a_moment() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::below(dir.path());
        let caller = Caller { name: "ann".to_owned(), role: Role::Admin };
        let note = |number: i64| {
            // Seven entries share a time.
            write(&files, Timestamp(number / 7), &caller, format!("POST /{number}"), 200).unwrap();
        };
        (0..20).for_each(note);
        fs::rename(files.audit(), files.audit().with_extension("jsonl.1")).unwrap();
        (20..40).for_each(note);
        for limit in [1, 3, 7, 40, 100] {
            let (mut cursor, mut seen) = (None, Vec::new());
            loop {
                let (entries, next) = newest(&files, cursor, limit).unwrap();
                assert!(entries.len() <= limit);
                seen.extend(entries.into_iter().map(|entry| entry.request));
                let Some(next) = next else { break };
                assert_eq!(Cursor::parse(&next.text()), Some(next));
                cursor = Some(next);
                // What is written meanwhile is newer.
                if seen.len() == 3 {
                    write(&files, Timestamp(100), &caller, "POST /new".to_owned(), 200).unwrap();
                }
            }
            let all: Vec<String> = (0..40).rev().map(|number| format!("POST /{number}")).collect();
            seen.retain(|request| request != "POST /new");
            assert_eq!(seen, all, "{limit}");
        }
        assert_eq!((Cursor::parse("x"), Cursor::parse("1-y")), (None, None));
    }
}
