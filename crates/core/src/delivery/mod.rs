//! Delivery of finished work: commits in the repository's style, merge queue entries, and pull request texts based on
//! evidence, on which no forge acts.
//!
//! Everything here is pure. [`style`] and [`message`] write commits, [`crate::conflict`] checks that a resolution lost
//! nothing, [`queue`] has the types of merge queues. [`inert`] neutralizes what a forge would act on in foreign text.
//! [`body`] writes the description of a pull request. [`Marker`] identifies the pull request and acquit's part of the
//! description.

mod body;
mod candidates;
mod comment;
mod commit;
mod inert;
mod marker;
pub mod message;
pub mod queue;
pub mod style;

pub use body::{Account, LIMIT, body, title};
pub use comment::Comment;
pub use commit::{Commit, CommitStyle, Committer, Sign};
pub use inert::{inert, inert_line};
pub use marker::{Marker, Whose};
