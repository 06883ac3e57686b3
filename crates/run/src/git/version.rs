//! What the machine's git can do: Debian 12 has 2.39, Ubuntu 22.04 has 2.34.
//!
//! Asked once for each process, and only where it matters. A git that does not say its version counts as the oldest.

use std::sync::{Arc, OnceLock};

use super::Git;
use crate::sandbox::machine::Version;

/// The oldest git that works.
pub const OLDEST: Version = Version(2, 34);

/// From here on git reads attributes from where it is told to.
const ATTRIBUTE_SOURCE: Version = Version(2, 41);

/// From here on git merges trees without a checkout, with a base of the caller's choice.
const MERGES_TREES: Version = Version(2, 40);

impl Git {
    /// Its version.
    pub fn version(&self) -> Version {
        *self.version.get_or_init(|| {
            let said = self.call("version").run().ok();
            let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            said.and_then(|said| Version::in_text(&said)).unwrap_or(OLDEST)
        })
    }

    /// The same, taken for one of this version: what older ones need is tried where a newer one is installed.
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
