//! What a use case tells while it works. A caller shows it, logs it, or drops it; nothing depends on it.

use acquit_core::time::Timestamp;

/// Something that a person may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It goes on, but perhaps not as expected.
    Warning(String),
    /// A task continues by a configuration that has changed; a line for each difference.
    ConfigurationUpdated(Vec<String>),
    /// Something that the daemon did.
    Log {
        /// When.
        at: Timestamp,
        /// Its subject, a word.
        what: String,
        /// What happened. Parts of it may come from agents and repositories.
        text: String,
    },
}

/// Who is told.
pub type Notices = Box<dyn Fn(&Notice) + Send + Sync>;
