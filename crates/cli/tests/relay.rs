//! The relay from end to end: the real binary, real git, scripted agents, and what a user sees of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "relay/cancelling.rs"]
mod cancelling;
mod common;
#[path = "relay/continued.rs"]
mod continued;
#[path = "relay/demo.rs"]
mod demo;
#[path = "relay/figures.rs"]
mod figures;
#[path = "relay/flags.rs"]
mod flags;
#[path = "relay/guardrails.rs"]
mod guardrails;
#[path = "relay/hints.rs"]
mod hints;
#[path = "relay/keys.rs"]
mod keys;
#[path = "relay/launcher.rs"]
mod launcher;
#[path = "relay/lifecycle.rs"]
mod lifecycle;
#[path = "relay/limits.rs"]
mod limits;
#[path = "relay/looking.rs"]
mod looking;
#[path = "relay/offered.rs"]
mod offered;
#[path = "relay/outcomes.rs"]
mod outcomes;
#[path = "relay/overview.rs"]
mod overview;
#[path = "relay/people.rs"]
mod people;
#[path = "relay/tools.rs"]
mod tools;
#[path = "relay/turns.rs"]
mod turns;
#[path = "relay/typos.rs"]
mod typos;
#[path = "relay/work.rs"]
mod work;

use common::CODE;

/// An agent that does what it should.
const GOOD: &str = r#"
[[code]]
step = [
    { say = "I write." },
    { write = "work.txt", content = "work\n" },
    { run = "git add -A && git commit -qm 'Write it'" },
    { usage = { model = "m", input = 1000, output = 20, cost_micros = 12345 } },
    { outcome = "pr_ready", payload = { summary = "written" } },
]
"#;
