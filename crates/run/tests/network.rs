//! The proxy with real sockets on the loopback, and a resolver that a test sets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; servers and clients are threads"
)]

#[path = "network/hostile.rs"]
mod hostile;
#[path = "network/support.rs"]
mod support;
#[path = "network/ways.rs"]
mod ways;
