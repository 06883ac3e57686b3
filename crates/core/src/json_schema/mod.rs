//! JSON Schema (draft 2020-12) for the payloads of outcomes.
//!
//! [`check`] judges a schema when a workflow is read, [`mistakes`] judges a value that an agent reported. Two rules differ from a general
//! validator, because schemas are written by hand and values come from an untrusted process:
//!
//! - A keyword that is unknown or unsupported is an error of the schema. Ignoring it would accept everything where a typo was made.
//! - The work is bounded: patterns are regular expressions that match in linear time, a schema may refer to itself but not forever, and a
//!   value that takes too many steps is refused.
//!
//! `$ref` reaches only parts of the same document. Nothing is fetched.

mod keywords;
#[cfg(test)]
mod tests;
mod validate;

pub use keywords::{SchemaError, check};
pub use validate::mistakes;

/// Deepest nesting of schemas and values. JSON itself is read to a depth of 128.
const DEEPEST: usize = 256;
