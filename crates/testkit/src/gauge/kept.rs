//! Results that are kept in a file, one line for each case, so that a measurement that was stopped goes on where it was.
//!
//! A result counts only for the same binary and the same case: if either changes, the case is run again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{Case, Judged};

/// The results of earlier runs, and the file that takes new ones.
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
    /// Opens the file. What cannot be read in it, such as a line that was cut short, is run again.
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

    /// Runs all cases again. What is known of others stays in the file.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn key(&self, case: &Case) -> String {
        format!("{} {:x} {}", case.name, case.digest, self.binary)
    }

    /// The result of a case, if it was run.
    pub fn get(&self, case: &Case) -> Option<Judged> {
        self.known.get(&self.key(case)).cloned()
    }

    /// Keeps the result of a case, unless it could not be run.
    pub fn put(&self, case: &Case, judged: &Judged) -> Result<(), String> {
        if judged.trouble.is_some() {
            return Ok(());
        }
        let line = Line { key: self.key(case), judged: judged.clone() };
        let mut text =
            serde_json::to_string(&line).map_err(|error| format!("failed to write a result: {error}"))?;
        // A line of its own, also after one that was cut short.
        text.insert(0, '\n');
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(text.as_bytes()).map_err(|error| format!("failed to keep a result: {error}"))
    }
}
