//! What people get to see of finished work at a forge: the text of its request, made of evidence, with nothing alive in it.
//!
//! Everything here is pure. [`inert`] takes from a text of others whatever a forge would act on; [`body`] writes the request's
//! text; [`Marker`] is how a request is found again, and the part of its text that is acquit's own.

mod body;
mod comment;
mod inert;
mod marker;

pub use body::{Account, LIMIT, body, title};
pub use comment::{Comment, Origin};
pub use inert::{inert, inert_line};
pub use marker::{Marker, Whose};
