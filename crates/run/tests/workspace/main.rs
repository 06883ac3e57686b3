//! Workspaces and the user's repository, with real git: ordinary use, bad input, hostile clones, and crashes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests may panic and set up files"
)]

mod bounded;
mod change;
mod crash;
mod fate;
mod hostile;
mod kit;
mod life;
mod mirror;
mod objects;
mod publish;
mod push;
mod rebase;
mod scratch;
mod source;
mod unmoved;
