//! Knowing whether setup has to run again in the work tree: where there are no overlays.

use super::{Error, Locked, files};

impl Locked {
    /// Whether setup was finished for exactly this key.
    pub fn setup_done(&self, key: &str) -> Result<bool, Error> {
        Ok(files::read(&self.dir.join("setup"), files::SMALL)?.is_some_and(|done| done == key.as_bytes()))
    }

    /// Remembers that setup was finished for this key.
    pub fn mark_setup_done(&self, key: &str) -> Result<(), Error> {
        files::write(&self.dir.join("setup"), key.as_bytes())
    }
}
