//! Legs whose agents speak the Agent Client Protocol: made-up ones that do what they should not, and real ones that ask a scripted model.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "acp/made_up.rs"]
mod made_up;
#[path = "acp/real.rs"]
mod real;

/// One stage that writes; what goes wrong goes to a person at once.
const CODE: &str = r#"
[budgets]
outcome = 0
agent = 0
limit = 0
nothing = 0
harness = 0
overload = 0
[stages.code]
mode = "implement"
on = { pr_ready = "done" }
"#;
