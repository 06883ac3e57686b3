//! Reads TOML that people wrote. Every value keeps its location, and mistakes are collected instead of ending the read,
//! so that the user can fix all of them at once.
//!
//! `Source` holds the text and its mistakes, `Table` and `Value` give readers access to values, and [`Mistakes`] is the
//! error for a file with mistakes. The keys and types that readers request are recorded as the schema of such files.

mod mistake;
mod shape;
mod source;
mod suggest;
mod table;
mod value;

pub use mistake::{Mistake, Mistakes};
pub(crate) use source::{At, Place, Source, quoted, sentence};
pub(crate) use suggest::did_you_mean;
pub use suggest::nearest;
pub(crate) use table::{Table, check_variable};
pub(crate) use value::Value;
