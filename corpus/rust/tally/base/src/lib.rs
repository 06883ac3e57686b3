//! Counts, ratios and rings.

pub mod ratio;
pub mod ring;
pub mod stats;
pub mod words;
