//! Reads what a task left behind: plans, files, reports of gates, and the raw output of agents.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use acquit_core::artifact::Artifact;
use acquit_core::ids::LegId;
use acquit_core::task::Task;

use crate::App;

/// Maximum size of a part.
const PART: u64 = 1024 * 1024;

/// A part of a text.
pub struct Part {
    /// The part. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Byte offset of the end of the part.
    pub next: u64,
    /// Size of the whole text in bytes.
    pub size: u64,
}

/// Reads a part of an artifact from a byte on. `None` if it is not a text, or is not on this machine.
pub fn read(app: &App, task: &Task, index: usize, from: u64) -> Option<Part> {
    match task.artifacts.get(index)? {
        Artifact::Plan { text } => {
            let from = usize::try_from(from).unwrap_or(usize::MAX).min(text.len());
            let rest = String::from_utf8_lossy(&text.as_bytes()[from..]).into_owned();
            Some(Part { text: rest, next: text.len() as u64, size: text.len() as u64 })
        }
        Artifact::File { path, .. } | Artifact::Report { path, .. } => {
            part(&inside(&app.runtime.task_folder(task.id()), Path::new(path))?, from)
        }
        _ => None,
    }
}

/// Reads a part of what the agent of a leg printed. `None` if there is no output on this machine.
pub fn output(app: &App, leg: LegId, from: u64) -> Option<Part> {
    part(&app.runtime.leg_folder(leg).output(), from)
}

/// Returns a path, if it leads to a file in the folder. Others may write to the store, so a path from it is not
/// trusted.
fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let (folder, path) = (folder.canonicalize().ok()?, path.canonicalize().ok()?);
    (path.starts_with(&folder) && path.is_file()).then_some(path)
}

fn part(path: &Path, from: u64) -> Option<Part> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(PART).read_to_end(&mut bytes).ok()?;
    let next = from.saturating_add(bytes.len() as u64);
    Some(Part { text: String::from_utf8_lossy(&bytes).into_owned(), next, size })
}
