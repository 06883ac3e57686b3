//! Gates that look at the change, with the real binary: what an agent does to tests, settings, secrets, scope and commits, and
//! what is said of it; and gates that hold a tool's report against the changed lines.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; tests prepare files"
)]

#[path = "looking/blocking.rs"]
mod blocking;
#[path = "looking/change.rs"]
mod change;
mod common;
#[path = "looking/coverage.rs"]
mod coverage;
#[path = "looking/dilution.rs"]
mod dilution;
#[path = "looking/kit.rs"]
mod kit;
#[path = "looking/mutation.rs"]
mod mutation;
#[path = "looking/phases.rs"]
mod phases;
#[path = "looking/review.rs"]
mod review;
#[path = "looking/several.rs"]
mod several;
