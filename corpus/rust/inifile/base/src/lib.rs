//! Reads and writes INI files.

#![deny(missing_docs)]

mod document;
mod error;
mod parse;
mod value;
mod write;

pub use document::{Document, Section};
pub use error::{Error, Result};
