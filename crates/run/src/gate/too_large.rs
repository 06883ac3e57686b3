//! Changes that are too large to be read as a whole.

use acquit_core::check;

use crate::git;
use crate::workspace::Error;

/// Returns whether git's output exceeded the limit.
pub(crate) fn is_too_large(error: &Error) -> bool {
    match error {
        Error::Change(unreadable) => matches!(unreadable, check::diff::Unreadable::TooLarge { .. }),
        Error::Git { source, .. } => matches!(source, git::Error::TooMuchOutput { .. }),
        _ => false,
    }
}
