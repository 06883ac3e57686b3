//! What the work becomes when it leaves acquit: commits in the repository's style, a place in the merge queue, and what people
//! get to see of it at a forge, made of evidence, with nothing alive in it.
//!
//! Everything here is pure. [`style`] and [`message`] write commits, [`crate::conflict`] says whether a resolution lost something,
//! [`queue`] is what merge queues consist of. [`inert`] takes from a text of others whatever a forge would act on; [`body`] writes the
//! request's text; [`Marker`] is how a request is found again, and the part of its text that is acquit's own.

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
