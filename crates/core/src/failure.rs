//! Why a leg did not pass: the kind of failure, which has a budget, and a short message for the next attempt.

use serde::{Deserialize, Serialize};

use crate::ids::Name;

/// Kinds of failure that acquit itself detects; gates define their own. A kind is also the name of the budget it
/// spends. [`DEFAULTS`](kind::DEFAULTS) has the number of retries for each.
pub mod kind {
    /// The agent crashed or gave up.
    pub const AGENT: &str = "agent";
    /// The agent's report is not an outcome of its stage.
    pub const OUTCOME: &str = "outcome";
    /// The leg hit a time, idle or output limit.
    pub const LIMIT: &str = "limit";
    /// The agent ended without doing anything.
    pub const NOTHING: &str = "nothing";
    /// The agent tried something it must not do.
    pub const GUARDRAIL: &str = "guardrail";
    /// The harness failed: disk, git or setup.
    pub const HARNESS: &str = "harness";
    /// The disk of the machine that ran the leg is full. This says nothing about the work, and another machine may have
    /// room. Bounded, because a disk may look as if it had room again.
    pub const DISK: &str = "disk";
    /// Another task is fixing the same failure. Bounded, so that tasks which wait for each other end eventually.
    pub const BLOCKED: &str = "blocked";
    /// The base branch has moved and the work conflicts with it. Each time another change was merged first, so there
    /// are more retries than for a mistake. Bounded, because a branch that never rests would be followed forever.
    pub const CONFLICT: &str = "conflict";
    /// Other tasks must be merged first. This is not a failure, and no process waits meanwhile. Bounded, because a
    /// queue that never moves needs a person. With the delays in between, it lasts for a working day.
    pub const QUEUE: &str = "queue";
    /// The harness died, or something killed a gate from outside. It is not the fault of the agent or the work, so it
    /// spends no other retries. Bounded all the same, because a leg that kills its harness every time would otherwise
    /// repeat all night.
    pub const LOST: &str = "lost";

    /// The login's usage limit at the model's provider is reached until it resets. This is not a failure, so it spends
    /// no retries. Bounded, because a provider with a wrong clock would otherwise be asked all night.
    pub const USAGE: &str = "usage";
    /// The model's provider is overloaded or failed; temporary. With the delays in between, it lasts for a night.
    pub const OVERLOAD: &str = "overload";
    /// The agent is not logged in, is out of credit, or would charge another account than configured. Asks a person at
    /// once: retries would only annoy the provider.
    pub const LOGIN: &str = "login";
    /// The forge is unreachable or its rate limit is reached; temporary. With the delays in between, it lasts for a
    /// day.
    pub const FORGE: &str = "forge";
    /// Delivery is blocked by something only a person can fix: a missing permission, or a branch that someone else
    /// moved. Asks a person at once.
    pub const DELIVERY: &str = "delivery";

    /// Returns whether a failure of this kind says nothing about the work, because the agent, its model or acquit
    /// itself broke.
    pub fn is_breakdown(kind: &str) -> bool {
        [
            AGENT, OUTCOME, LIMIT, NOTHING, GUARDRAIL, HARNESS, DISK, LOST, USAGE, OVERLOAD, LOGIN, FORGE,
            CONFIG, LOOP, SPENT,
        ]
        .contains(&kind)
    }

    /// The configuration or the machine lacks something the leg needs: an allowed host, a secret, a program, part of
    /// the sandbox, a working setup. A retry would find the same, so a person is asked at once.
    pub const CONFIG: &str = "config";
    /// The agent repeated the same steps. It gets one retry, and its prompt names the steps.
    pub const LOOP: &str = "loop";
    /// A money or time limit set by a person is used up. Asks a person at once.
    pub const SPENT: &str = "spent";

    /// A gate could not judge the work, or found something no agent can fix, such as a secret. Asks a person at once.
    pub const UNJUDGED: &str = "unjudged";

    /// Kinds for which a person is asked at once, regardless of the workflow's transitions for failures: each of them
    /// would hit the same problem.
    pub const ASKED: [&str; 5] = [LOGIN, DELIVERY, CONFIG, SPENT, UNJUDGED];

    /// Default budgets of kinds that a workflow need not list.
    pub const DEFAULTS: [(&str, u32); 28] = [
        ("build", 2),
        ("lint", 3),
        ("types", 3),
        ("test", 3),
        ("format", 3),
        ("security", 1),
        ("review", 3),
        ("gate", 2),
        (AGENT, 2),
        (OUTCOME, 2),
        (LIMIT, 1),
        (NOTHING, 1),
        (GUARDRAIL, 0),
        (HARNESS, 2),
        (DISK, 20),
        (LOST, 5),
        (USAGE, 40),
        (OVERLOAD, 20),
        (LOGIN, 0),
        (FORGE, 60),
        (DELIVERY, 0),
        (CONFIG, 0),
        (LOOP, 1),
        (SPENT, 0),
        (UNJUDGED, 0),
        (BLOCKED, 5),
        (CONFLICT, 6),
        (QUEUE, 500),
    ];
}

/// A location in the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Path relative to the repository root.
    pub path: String,
    /// Line number, starting at 1.
    pub line: u32,
}

/// A failed check, reduced to what the next agent needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Gate that found it.
    pub gate: Name,
    /// Budget it spends.
    pub kind: Name,
    /// Essential lines of the gate's output, bounded.
    pub message: String,
    /// Location, if the output has one.
    pub location: Option<Location>,
    /// About twenty numbered lines around the location.
    pub excerpt: Option<String>,
}

/// Formats an error with its sources in one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
