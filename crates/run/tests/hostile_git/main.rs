//! Repositories that mean harm, the agent's and the user's: whatever is planted in them, every git call that acquit makes is
//! made, and nothing of it runs, hangs, or changes more of the user's repository than acquit's own refs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests may panic and set up files"
)]

mod agent;
mod guardrails;
mod import;
mod inventory;
mod stage;
mod user;
