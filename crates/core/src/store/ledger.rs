//! The daemon's data in the store: nights of schedules, outgoing messages, and read positions.
//!
//! Several projects may share a store, so schedules, nights and messages belong to a project and no other project gets
//! them. A night is recorded under its schedule and nominal time, so that two daemons never create the same night
//! twice. Every message has a unique key. A sender holds a message by a lease and a fence, like a leg: if the sender
//! dies, another sends the message, and a sender that was away too long cannot overwrite the other's result.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Result;
use crate::ids::{Fence, Name};
use crate::night::Night;
use crate::time::Timestamp;

/// The stored state of a schedule, in addition to its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Start of the period in which runs are due: when the schedule was first seen or resumed.
    pub since: Timestamp,
    /// When it was paused, if it is.
    pub paused: Option<Timestamp>,
}

/// Whether to follow a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Follow it from now on.
    Yes,
    /// Pause it until it is resumed.
    No,
}

/// Whether a night was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Recorded by this call.
    New,
    /// Already recorded.
    Known,
}

/// Which nights to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nights {
    /// Those of one schedule of a project.
    Of(String, Name),
    /// Unfinished ones of all schedules of a project.
    Open(String),
}

/// An outgoing message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Project whose channels and keys send it; empty for the user's own configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// Unique key. A second message with the same key is dropped.
    pub key: String,
    /// Channel name in the configuration.
    pub channel: String,
    /// Content.
    pub payload: serde_json::Value,
    /// Earliest time to send it, if not at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

/// A read position of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// Project; empty for the user's own configuration.
    pub project: &'a str,
    /// What is being read.
    pub name: &'a str,
}

/// A message in the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    /// The message.
    pub message: Message,
    /// Number of attempts.
    pub attempts: u32,
    /// Earliest time of the next attempt.
    pub due: Timestamp,
    /// Current state.
    pub state: Post,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Fence of the process that took it, which entitles it to record the result.
    pub fence: Option<Fence>,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Post {
    /// Waits to be sent.
    Waiting,
    /// Sent.
    Sent,
    /// Failed too often.
    GivenUp,
}

impl Post {
    /// All states with their names in the store.
    pub const ALL: [(&str, Self); 3] =
        [("waiting", Self::Waiting), ("sent", Self::Sent), ("given_up", Self::GivenUp)];
}

/// The result of an attempt to send a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Delivered.
    Done,
    /// Not delivered; retry later.
    Again {
        /// The error.
        error: String,
        /// Delay before the retry.
        after: Duration,
    },
    /// Not delivered, and no retry can help.
    Never {
        /// The error.
        error: String,
    },
}

/// The part of the store that the daemon uses.
pub trait Ledger {
    /// Returns the state of a project's schedule. Registers an unknown schedule as of now.
    fn schedule(&mut self, project: &str, name: &Name) -> Result<Standing>;

    /// Pauses or resumes a project's schedule. After a resume, runs that were missed are not made up for.
    fn follow(&mut self, project: &str, name: &Name, follow: Follow) -> Result<()>;

    /// Records a new night, unless its schedule already has one at its nominal time.
    fn record(&mut self, night: &Night) -> Result<Recorded>;

    /// Returns up to `limit` nights, newest first.
    fn nights(&mut self, which: &Nights, limit: u32) -> Result<Vec<Night>>;

    /// Writes a night, with messages about it, in one transaction. Returns `None` if another process wrote it since it
    /// was read.
    fn keep(&mut self, night: &Night, messages: &[Message]) -> Result<Option<Night>>;

    /// Adds messages to the outbox and updates the read position in the same transaction.
    fn post(&mut self, messages: &[Message], read: Option<(Mark<'_>, i64)>) -> Result<()>;

    /// Returns a read position.
    fn mark(&mut self, mark: Mark<'_>) -> Result<Option<i64>>;

    /// Takes a due message of a project that no other process holds, and counts the attempt.
    fn take(&mut self, project: &str, lease: Duration) -> Result<Option<Letter>>;

    /// Records the result of an attempt. Does nothing if another process holds the message by now.
    fn delivered(&mut self, letter: &Letter, delivery: &Delivery) -> Result<()>;

    /// Returns up to `limit` messages, newest first.
    fn letters(&mut self, limit: u32) -> Result<Vec<Letter>>;

    /// Returns when the next message of a project is due, if one waits.
    fn next_letter(&mut self, project: &str) -> Result<Option<Timestamp>>;
}
