//! Reading TOML that people wrote: every value keeps its place in the file, and a mistake is noted instead of ending the
//! reading, so that one look at the file's mistakes is enough to mend them all.
//!
//! `Source` holds the text and what was found wrong with it, `Table` and `Value` are what readers ask for values,
//! and [`Mistakes`] is what a file with mistakes becomes. What they ask for is remembered, as the form of such files.

mod mistake;
mod shape;
mod source;
mod suggest;
mod table;
mod value;

pub use mistake::{Mistake, Mistakes};
pub(crate) use source::{At, Place, Source, quoted, sentence};
pub(crate) use suggest::did_you_mean;
pub(crate) use table::{Table, check_variable};
pub(crate) use value::Value;
