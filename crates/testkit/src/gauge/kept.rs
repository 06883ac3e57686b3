//! Results in a file, one line per case, so that an interrupted measurement can continue.
//!
//! A result is valid only for the same binary and the same case. If either changes, the case runs again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{Case, Judged};

/// The results of earlier runs, and the file for new ones.
pub struct Kept {
    known: HashMap<String, Judged>,
    file: Mutex<File>,
    binary: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    judged: Judged,
}

impl Kept {
    /// Opens the file. Cases whose lines cannot be parsed, such as a truncated one, run again.
    pub fn open(path: &Path, binary: &Path) -> Result<Self, String> {
        let doing = |error: std::io::Error| format!("failed to open {}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(path)).map_err(doing)?;
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.map(|line| (line.key, line.judged)).collect();
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(doing)?;
        let about = fs::metadata(binary).map_err(doing)?;
        let built = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let binary = format!("{}-{}", about.len(), built.unwrap_or_default().as_nanos());
        Ok(Self { known, file: Mutex::new(file), binary })
    }

    /// Discards all results, so that all cases run again. Their lines stay in the file.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn key(&self, case: &Case) -> String {
        format!("{} {:x} {}", case.name, case.digest, self.binary)
    }

    /// Returns the result of a case, if it ran.
    pub fn get(&self, case: &Case) -> Option<Judged> {
        self.known.get(&self.key(case)).cloned()
    }

    /// Stores the result of a case, unless it could not run.
    pub fn put(&self, case: &Case, judged: &Judged) -> Result<(), String> {
        if judged.trouble.is_some() {
            return Ok(());
        }
        let line = Line { key: self.key(case), judged: judged.clone() };
        let mut text =
            serde_json::to_string(&line).map_err(|error| format!("failed to write a result: {error}"))?;
        // Start a new line, in case the last one was truncated.
        text.insert(0, '\n');
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(text.as_bytes()).map_err(|error| format!("failed to keep a result: {error}"))
    }
}
