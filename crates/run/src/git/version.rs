//! Capabilities of the machine's git: Debian 12 has 2.39, Ubuntu 22.04 has 2.34.
//!
//! Asked once per process, and only where it matters. A git that does not print its version counts as the oldest.

use std::sync::{Arc, OnceLock};

use super::Git;
use crate::sandbox::machine::Version;

/// The oldest supported git.
pub const OLDEST: Version = Version(2, 34);

/// First version that reads attributes from a given tree.
const ATTRIBUTE_SOURCE: Version = Version(2, 41);

/// First version that merges trees without a checkout and with a given base.
const MERGES_TREES: Version = Version(2, 40);

impl Git {
    /// Returns the version of git.
    pub fn version(&self) -> Version {
        *self.version.get_or_init(|| {
            let said = self.call("version").run().ok();
            let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            said.and_then(|said| Version::in_text(&said)).unwrap_or(OLDEST)
        })
    }

    /// Assumes this version, to test the code for older versions where a newer one is installed.
    #[must_use]
    pub fn assuming(mut self, version: Version) -> Self {
        self.version = Arc::new(OnceLock::from(version));
        self
    }

    pub(super) fn has_attribute_source(&self) -> bool {
        self.version() >= ATTRIBUTE_SOURCE
    }

    pub(crate) fn merges_trees(&self) -> bool {
        self.version() >= MERGES_TREES
    }
}
