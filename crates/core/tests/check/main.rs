//! The checks that look at a change.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod coverage;
mod diff;
mod dilution;
mod kit;
mod mutation;
mod reading;
mod review;
mod scope;
mod secrets;
mod secrets_corpus;
