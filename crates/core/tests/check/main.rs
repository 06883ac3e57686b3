//! The checks that look at a change.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod diff;
mod dilution;
mod kit;
mod secrets;
