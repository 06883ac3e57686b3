//! Delivery: what the work becomes when it leaves acquit.

pub mod conflict;
pub mod message;
pub mod queue;
pub mod style;
