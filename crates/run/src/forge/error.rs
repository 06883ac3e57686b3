//! Why a forge did not do it, sorted by what follows: wait, ask a person, or look again.

use std::time::Duration;

/// What went wrong. Messages continue a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It has no more calls for us now. Nothing happened.
    #[error("{doing}: the forge allows no more calls for now ({words})")]
    Busy {
        /// What was tried.
        doing: &'static str,
        /// When it says to come back.
        wait: Option<Duration>,
        /// Its words.
        words: String,
    },
    /// It is away, failed or too slow. Whether anything happened is not known.
    #[error("{doing}: the forge is away ({words})")]
    Away {
        /// What was tried.
        doing: &'static str,
        /// How that was seen.
        words: String,
    },
    /// The token may not do this, or there is none. Only a person can mend it.
    #[error("{doing}: {words}")]
    Denied {
        /// What was tried.
        doing: &'static str,
        /// What is missing, and how it is mended.
        words: String,
    },
    /// It understood and said no.
    #[error("{doing}: the forge says no ({status}): {words}")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// The status of its answer.
        status: u16,
        /// Its words.
        words: String,
    },
    /// It answered what nobody expects.
    #[error("{doing}: the forge answered something else than its description says ({words})")]
    Nonsense {
        /// What was tried.
        doing: &'static str,
        /// What was missing.
        words: String,
    },
    /// The configuration names something that cannot be used.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    /// Whether what was tried may have happened all the same.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Away { .. } | Self::Nonsense { .. } => true,
            Self::Busy { .. } | Self::Denied { .. } | Self::Refused { .. } | Self::Setting(_) => false,
        }
    }
}
