//! Patterns that stand in the source.

use regex::Regex;

/// A pattern that is known to be one.
#[expect(clippy::expect_used, reason = "only called with literals, each of which a test compiles")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}
