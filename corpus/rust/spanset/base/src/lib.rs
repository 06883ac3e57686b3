//! Sets of numbers as sorted spans.
//!
//! ```
//! use spanset::{Span, SpanSet};
//!
//! let mut pages: SpanSet = "1-5, 8".parse()?;
//! pages.insert(Span::new(10, 13));
//! assert_eq!(pages.to_string(), "1-5,8,10-12");
//! assert_eq!(pages.len(), 9);
//! # Ok::<(), spanset::ParseError>(())
//! ```

mod parse;
mod set;
mod span;

pub use parse::{ParseError, Problem};
pub use set::SpanSet;
pub use span::Span;
