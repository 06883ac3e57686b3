//! Recorded output of real agents through the parsers: what it means, and that nothing made of it brings them down.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads its own files, and may fail"
)]

mod money;
mod mutate;
mod recorded;
mod sums;
