//! The workflows that come with acquit, from end to end: the real binary, real git, scripted agents, and the real Claude Code and
//! Codex against a scripted model. What each went through is compared with a golden log.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    dead_code,
    reason = "tests look again until a condition holds or a deadline passes, and use a part of what they share"
)]

mod common;
#[path = "workflows/files.rs"]
mod files;
#[path = "workflows/flows.rs"]
mod flows;
#[path = "workflows/injection.rs"]
mod injection;
#[path = "live/kit.rs"]
mod kit;
#[path = "workflows/limits.rs"]
mod limits;
#[path = "workflows/live.rs"]
mod live;
#[path = "workflows/night.rs"]
mod night;
#[path = "workflows/prompts.rs"]
mod prompts;
#[path = "workflows/request.rs"]
mod request;
#[path = "workflows/seeds.rs"]
mod seeds;
#[path = "workflows/tools.rs"]
mod tools;

use acquit_core::change::Change;
use acquit_core::event::Body;
use acquit_core::leg::Ending;

use common::Sandbox;

/// A workflow that nobody runs: the tests are about those that come with acquit.
const UNUSED: &str = "[stages.only]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";

/// One scripted agent, and a gate that the work must stand.
const PROJECT: &str = r#"
workflow = "feature"
agent = "bot"
[agents.bot]
adapter = "scripted"
script = "script.toml"
[gates.check]
run = "test -e good.txt"
kind = "test"
"#;

/// A repository whose agent plays this, with nothing of a workflow in it.
fn project(script: &str) -> Sandbox {
    Sandbox::new(PROJECT, UNUSED, script)
}

/// What happened, in a line each, without what differs from run to run.
fn golden(sandbox: &Sandbox) -> String {
    let mut lines = Vec::new();
    for event in sandbox.events() {
        lines.push(match &event.body {
            Body::Change { change } => match change {
                Change::LegReadied { leg, entry, .. } => format!("leg {leg} readied: {}", entry.stage),
                Change::LegEnded { leg, report } => match &report.ending {
                    Ending::Passed { outcome } => format!("leg {leg} passed: {}", outcome.name),
                    Ending::Rejected { failures, .. } => {
                        let gates: Vec<&str> = failures.iter().map(|failure| failure.gate.as_str()).collect();
                        format!("leg {leg} rejected: {}", gates.join(", "))
                    }
                    other => format!("leg {leg} {}", other.state().name()),
                },
                Change::BudgetSpent { budget, spent, limit } => format!("spent {budget} {spent}/{limit}"),
                Change::VariationTried { tried } => format!("tried {} in vain", tried.value),
                other => other.kind().to_owned(),
            },
            Body::Gate { verdict } => format!("gate {}: {}", verdict.gate, verdict.passed),
            Body::Step { .. }
            | Body::WorkSaved { .. }
            | Body::AgentStarted { .. }
            | Body::AgentEnded { .. }
            | Body::Progress { .. }
            | Body::SetupAgain(_)
            | Body::Notify { .. }
            | Body::Notice { .. } => continue,
        });
    }
    // Gates of a stage are run side by side: the order in which they end says nothing.
    for gates in lines.chunk_by_mut(|one, next| one.starts_with("gate ") && next.starts_with("gate ")) {
        gates.sort();
    }
    lines.join("\n")
}
