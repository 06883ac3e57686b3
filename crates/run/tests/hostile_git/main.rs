//! Repositories that mean harm, the agent's and the user's: whatever is planted in them, every git call that acquit makes is
//! made, and nothing of it runs, hangs, or changes more of the user's repository than acquit's own refs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::semicolon_if_nothing_returned,
    clippy::too_many_lines,
    reason = "tests may panic and set up files; the tables of plants are long, and a plant is one line"
)]

mod agent;
mod guardrails;
mod import;
mod inventory;
mod stage;
mod user;
