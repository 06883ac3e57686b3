//! Why a leg did not pass: the kind, which has a budget, and the distilled words for the next attempt.

use serde::{Deserialize, Serialize};

use crate::ids::Name;

/// Kinds of failure that acquit itself finds; a gate names its own. A kind is also the name of the budget it spends.
/// Each comes with how often it is tried again by default, and why that often.
pub mod kind {
    /// The agent crashed or gave up.
    pub const AGENT: &str = "agent";
    /// What the agent reported is not an outcome of its stage.
    pub const OUTCOME: &str = "outcome";
    /// A time, idle or output limit was reached.
    pub const LIMIT: &str = "limit";
    /// The agent ended without having done anything.
    pub const NOTHING: &str = "nothing";
    /// The agent tried what it must not.
    pub const GUARDRAIL: &str = "guardrail";
    /// The harness could not do its part: disk, git, setup.
    pub const HARNESS: &str = "harness";
    /// Another task mends the same failure. Bounded, so that tasks which give way to each other come to an end.
    pub const BLOCKED: &str = "blocked";
    /// The base branch has moved, and the work does not fit onto it. Each time somebody else was faster, so there are more tries
    /// than for a mistake; bounded, because a branch that never rests would be followed for ever.
    pub const CONFLICT: &str = "conflict";
    /// Others are to be merged first. No failure, and no process waits meanwhile; bounded, because a queue that never moves is a
    /// person's business. With the delays in between this lasts for a working day.
    pub const QUEUE: &str = "queue";
    /// The harness died. Nobody's fault, so it spends no retry of the others; bounded all the same, because a leg that kills
    /// its harness every time would go on all night.
    pub const LOST: &str = "lost";

    /// The model's provider says that what the login may use is used up, until it says again. No failure, so it spends no
    /// retry; bounded, because a provider whose clock is wrong would be asked all night.
    pub const USAGE: &str = "usage";
    /// The model's provider is overloaded, or failed. It passes; with the delays in between this lasts for a night.
    pub const OVERLOAD: &str = "overload";
    /// The agent is not logged in, has nothing to pay with, or would pay with another account than was named. A person is
    /// asked at once: trying again would only annoy the provider.
    pub const LOGIN: &str = "login";
    /// The forge is away, or has no more calls for us. It passes; with the delays in between this lasts for a day.
    pub const FORGE: &str = "forge";
    /// Something stands against the delivery that only a person can put right: a missing right, a branch that somebody else
    /// moved. A person is asked at once.
    pub const DELIVERY: &str = "delivery";

    /// Whether a failure of this kind says nothing about the work: the agent, its model or acquit itself broke down.
    pub fn is_breakdown(kind: &str) -> bool {
        [
            AGENT, OUTCOME, LIMIT, NOTHING, GUARDRAIL, HARNESS, LOST, USAGE, OVERLOAD, LOGIN, FORGE, CONFIG,
            LOOP, SPENT,
        ]
        .contains(&kind)
    }

    /// The configuration or the machine lacks something that the leg needs: a host that is not listed, a secret, a program, part
    /// of the sandbox, a working setup. Trying again finds the same, so a person is asked at once.
    pub const CONFIG: &str = "config";
    /// The agent repeated the same steps. It has one more try, and is told what it repeated.
    pub const LOOP: &str = "loop";
    /// A limit on money or time that a person has set is used up. A person is asked at once.
    pub const SPENT: &str = "spent";

    /// A gate could not judge the work, or found something that no agent can mend, such as a secret. A person is asked at once.
    pub const UNJUDGED: &str = "unjudged";

    /// Kinds about which a person is asked at once, whatever the workflow does with failures: every other way of it would meet
    /// the same.
    pub const ASKED: [&str; 5] = [LOGIN, DELIVERY, CONFIG, SPENT, UNJUDGED];

    /// Every kind that has a budget without being written in a workflow, with its default.
    pub const DEFAULTS: [(&str, u32); 27] = [
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

/// A place in the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, relative to the repository's root.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// A failed check, distilled: what the next agent needs, and no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The gate that found it.
    pub gate: Name,
    /// Which budget it spends.
    pub kind: Name,
    /// The essential lines of what the gate printed, bounded.
    pub message: String,
    /// Where it is, as far as the output tells.
    pub location: Option<Location>,
    /// About twenty lines around the location, numbered.
    pub excerpt: Option<String>,
}

/// An error with its sources, in one line.
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
