//! Comments on a pull request, which go back to the task.

use serde::{Deserialize, Serialize};

use crate::failure::Location;

/// A comment on a pull request, or a failed check. Untrusted text, bounded by the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Id, unique within the pull request, so that no comment starts two legs.
    pub id: String,
    /// Author, by their name at the forge.
    pub by: String,
    /// The text.
    pub text: String,
    /// Line it is about.
    pub location: Option<Location>,
    /// Thread to reply to, if it can be replied to.
    pub thread: Option<String>,
}
