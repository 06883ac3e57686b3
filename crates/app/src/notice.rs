//! Notices of a use case while it works. A caller shows, logs or drops them; nothing depends on them.

use acquit_core::time::Timestamp;

/// Something a person may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A warning. Work continues, but maybe not as expected.
    Warning(String),
    /// A task continues with a changed configuration; one line per difference.
    ConfigurationUpdated(Vec<String>),
    /// A log message of the daemon.
    Log {
        /// Time.
        at: Timestamp,
        /// Subject in one word.
        what: String,
        /// Message. Parts of it may come from agents and repositories.
        text: String,
    },
}

/// Receiver of notices.
pub type Notices = Box<dyn Fn(&Notice) + Send + Sync>;
