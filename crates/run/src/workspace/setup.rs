//! Knowing whether the project's setup command has to run again.

use super::files::{self, Found};
use super::{Error, Locked};
use crate::git::file_name;

/// The largest lock file that is read; generated ones of big projects have a few megabytes.
const LARGEST_LOCK_FILE: u64 = 64 << 20;

impl Locked {
    /// One value for the contents of the given lock files of the tree; `none` when none of them is there. The paths
    /// are relative to the tree; what is not a plain file there counts as absent.
    pub fn lock_files_hash(&self, paths: &[&str]) -> Result<String, Error> {
        let mut input = Vec::new();
        for path in paths {
            if let Found::Content(bytes) = files::read_untrusted(&self.tree(), path, LARGEST_LOCK_FILE)? {
                // Lengths in front, so that no content can be read as the name of the next file.
                input.extend_from_slice(format!("{} {} {path}\n", path.len(), bytes.len()).as_bytes());
                input.extend_from_slice(&bytes);
            }
        }
        if input.is_empty() {
            return Ok("none".into());
        }
        Ok(file_name(self.format, &input))
    }

    /// Whether setup was finished for exactly this key.
    pub fn setup_done(&self, key: &str) -> Result<bool, Error> {
        Ok(files::read(&self.dir.join("setup"), files::SMALL)?.is_some_and(|done| done == key.as_bytes()))
    }

    /// Remembers that setup was finished for this key.
    pub fn mark_setup_done(&self, key: &str) -> Result<(), Error> {
        files::write(&self.dir.join("setup"), key.as_bytes())
    }
}
