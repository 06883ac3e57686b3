//! Errors of a forge, grouped by what to do: wait, ask a person, or check again.

use std::time::Duration;

/// A forge error. Messages continue a sentence that starts with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rate limit is exceeded. Nothing happened.
    #[error("{doing}: the forge allows no more calls for now ({words})")]
    Busy {
        /// The operation.
        doing: &'static str,
        /// Wait that the forge requests.
        wait: Option<Duration>,
        /// Message of the forge.
        words: String,
    },
    /// The forge is down, failed or too slow. It is unknown whether anything happened.
    #[error("{doing}: the forge is away ({words})")]
    Away {
        /// The operation.
        doing: &'static str,
        /// The symptom.
        words: String,
    },
    /// The token does not allow this, or there is none. Only a person can fix it.
    #[error("{doing}: {words}")]
    Denied {
        /// The operation.
        doing: &'static str,
        /// What is missing, and how to fix it.
        words: String,
    },
    /// The forge rejected a valid call.
    #[error("{doing}: the forge says no ({status}): {words}")]
    Refused {
        /// The operation.
        doing: &'static str,
        /// HTTP status.
        status: u16,
        /// Message of the forge.
        words: String,
    },
    /// The answer has an unexpected format.
    #[error("{doing}: the forge answered something else than its description says ({words})")]
    Nonsense {
        /// The operation.
        doing: &'static str,
        /// What was missing.
        words: String,
    },
    /// The configuration is invalid.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    /// Returns whether the operation may have happened anyway.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Away { .. } | Self::Nonsense { .. } => true,
            Self::Busy { .. } | Self::Denied { .. } | Self::Refused { .. } | Self::Setting(_) => false,
        }
    }
}
