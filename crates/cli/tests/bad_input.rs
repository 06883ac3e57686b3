//! Bad input of every kind: each gets a clear message or a correct result, nothing is lost, nothing hangs.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the real binary and the programs around it, and look again until a condition holds"
)]
#![allow(clippy::unwrap_used, reason = "in a test, what cannot be is a failure with a place")]

mod bad_support;
mod common;
