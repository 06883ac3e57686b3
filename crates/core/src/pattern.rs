//! Regular expressions from literals in the source.

use regex::Regex;

/// Compiles a literal pattern that is known to be valid.
#[expect(clippy::expect_used, reason = "only called with literals, each of which a test compiles")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}
