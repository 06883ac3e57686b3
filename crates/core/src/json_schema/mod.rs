//! JSON Schema (draft 2020-12) for the payloads of outcomes.
//!
//! [`check`] checks a schema when a workflow is read; [`mistakes`] validates a value that an agent reported. Two rules
//! differ from a general validator, because schemas are written by hand and values come from an untrusted process:
//!
//! - An unknown or unsupported keyword is an error in the schema. Ignoring it would accept everything after a typo.
//! - Work is bounded: patterns match in linear time, a schema may refer to itself only up to a limit, and a value that
//!   takes too many steps is refused.
//!
//! `$ref` resolves only within the same document. Nothing is fetched.

mod keywords;
#[cfg(test)]
mod tests;
mod validate;

pub use keywords::{SchemaError, check};
pub use validate::mistakes;

/// Maximum nesting of schemas and values. JSON itself is parsed to a depth of 128.
const DEEPEST: usize = 256;
