//! Requests: what only a person can answer. A task with an open one waits, for as long as it takes.

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::leg::Entry;
use crate::workflow::Target;

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Counts from 1 within the task.
    pub number: u32,
    /// The stage at which the task stands.
    pub stage: Name,
    /// What is asked.
    pub ask: Ask,
    /// The question in words.
    pub question: String,
    /// The leg that a plain "go on" would make ready.
    pub resume: Entry,
}

/// What a person is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Words: the agent needs to know something.
    Question,
    /// One of several ways to go on.
    Choice {
        /// The ways.
        options: Vec<Target>,
    },
    /// Consent to go on to `to`.
    Approval {
        /// Where approval leads.
        to: Target,
    },
    /// An answer to a human stage: one of its outcomes.
    Stage {
        /// The outcomes that the stage knows.
        outcomes: Vec<Name>,
    },
    /// A budget is spent: more of it, another way, or the end.
    Budget {
        /// Which.
        budget: Name,
    },
    /// Anything else that stopped the task.
    Stuck,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    /// Go on.
    Approve,
    /// Do not.
    Reject {
        /// Why.
        reason: String,
    },
    /// This way.
    Choose {
        /// One of the options, or of the stage's outcomes.
        option: String,
    },
    /// Words for the agent, upon which it goes on.
    Text {
        /// The words.
        text: String,
    },
}
