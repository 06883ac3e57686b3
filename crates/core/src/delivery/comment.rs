//! What people said about a request at its forge, on its way back to the task.

use serde::{Deserialize, Serialize};

use crate::failure::Location;

/// A comment on a request, or a check that failed on it. Text of others, bounded by whoever read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// What no other comment of the request has: none starts two legs.
    pub id: String,
    /// Who said it, as the forge calls them.
    pub by: String,
    /// What.
    pub text: String,
    /// About which line.
    pub location: Option<Location>,
    /// Where an answer goes, if it is a thread that can be answered.
    pub thread: Option<String>,
}
