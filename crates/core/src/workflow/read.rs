//! Placeholder.
/// Placeholder.
pub fn read() {}
