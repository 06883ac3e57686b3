//! Progress that an agent reports: the server writes it as lines, and the harness reads them while the agent works. An
//! untrusted process can write this file, so everything that is read is limited, and invalid lines are skipped.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use acquit_core::agent::shorten;
use acquit_core::event::Body;
use serde::{Deserialize, Serialize};

use crate::untrusted;

/// Maximum length of a progress message: a sentence or two.
pub(super) const TEXT_LIMIT: usize = 500;
/// Maximum size of the file per leg: far more than anyone follows, and less than a flood would add to the history.
const FILE_LIMIT: u64 = 64 * 1024;
/// Maximum number of events per leg, for the same reason.
const EVENTS_LIMIT: usize = 200;

/// A progress message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) text: String,
    #[serde(default)]
    pub(super) percent: Option<u8>,
}

/// Appends a message, for the server. Too many messages are not an error: the reply tells the agent to continue
/// without.
pub(super) fn add(path: &Path, note: &Note) -> io::Result<String> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() > FILE_LIMIT {
        return Ok("That is enough about progress; go on without.".to_owned());
    }
    let mut line = serde_json::to_vec(note)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok("Noted; go on.".to_owned())
}

/// State of reading, for the harness.
pub(crate) struct Progress {
    path: PathBuf,
    read: u64,
    told: usize,
}

impl Progress {
    /// Starts at the beginning of the file.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, read: 0, told: 0 }
    }

    /// Returns new messages as events. An incomplete line waits for its end.
    pub(crate) fn news(&mut self) -> Vec<Body> {
        let bytes = self.bytes().unwrap_or_default();
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        self.read += end as u64 + 1;
        let room = EVENTS_LIMIT - self.told;
        let notes =
            bytes[..end].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let news: Vec<Body> = notes.take(room).map(body).collect();
        self.told += news.len();
        news
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        if self.read >= FILE_LIMIT || self.told >= EVENTS_LIMIT {
            return None;
        }
        let mut file = untrusted::open(&self.path)?;
        if file.metadata().ok()?.len() <= self.read {
            return None;
        }
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

fn body(note: Note) -> Body {
    let words: Vec<&str> = note.text.split_whitespace().collect();
    Body::Progress {
        text: shorten(&words.join(" "), TEXT_LIMIT),
        percent: note.percent.map(|part| part.min(100)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &Path, bytes: &[u8], progress: &mut Progress) -> Vec<String> {
        fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
        progress.news().iter().map(Body::summary).collect()
    }

    #[test]
    fn each_note_is_told_once_and_what_is_none_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        let mut progress = Progress::new(path.clone());
        assert!(progress.news().is_empty(), "no file, no news");
        let note = Note { text: "half\n done".to_owned(), percent: Some(50) };
        add(&path, &note).unwrap();
        assert_eq!(told(&path, b"nonsense\n{\"text\":\"cut", &mut progress), ["agent (50 %): half done"]);
        assert_eq!(
            told(&path, b" off\",\"percent\":255}\n\xff\n", &mut progress),
            ["agent (100 %): cut off"]
        );
        assert!(progress.news().is_empty());
    }

    #[test]
    fn a_flood_and_a_line_without_end_cost_little() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        let mut progress = Progress::new(path.clone());
        let flood = "{\"text\":\"x\"}\n".repeat(10_000);
        let mut count = 0;
        for _ in 0..100 {
            count += told(&path, flood.as_bytes(), &mut progress).len();
        }
        assert!(count <= EVENTS_LIMIT, "{count}");
        let other = folder.path().join("other");
        let mut progress = Progress::new(other.clone());
        fs::write(&other, vec![b'x'; 1024 * 1024]).unwrap();
        assert!(progress.news().is_empty());
        let refused = add(&other, &Note { text: "more".to_owned(), percent: None }).unwrap();
        assert!(refused.contains("enough"), "{refused}");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        assert!(Progress::new(folder.path().join("link")).news().is_empty());
    }
}
