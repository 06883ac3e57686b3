//! `run::process` with real processes, contained by the real executable.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes and wait for what the kernel does with them"
)]

#[path = "process/capture.rs"]
mod capture;
#[path = "process/exits.rs"]
mod exits;
#[path = "process/output.rs"]
mod output;
#[path = "process/start.rs"]
mod start;
#[path = "process/support.rs"]
mod support;
#[path = "process/trees.rs"]
mod trees;
