//! What the daemon keeps in the store: nights of schedules, messages on their way out, and how far it has read.
//!
//! Several projects may share a store, so schedules, nights and messages belong to a project, and nobody else is given them.
//! A night is recorded under its schedule and nominal time, so two daemons never make two of one. A message has a key that is given
//! once; who sends it holds it by a lease and a fence, as legs are held, so that what was taken by somebody who died is sent by
//! another, and somebody who was away too long does not overwrite what the other wrote down.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Result;
use crate::ids::{Fence, Name, TaskId};
use crate::night::Night;
use crate::time::Timestamp;

/// What is known of a schedule beside its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// No run before this is due: when it was first seen, or resumed.
    pub since: Timestamp,
    /// When somebody paused it, if it is.
    pub paused: Option<Timestamp>,
}

/// Whether a schedule is to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is, from now on.
    Yes,
    /// Not until somebody says so.
    No,
}

/// Whether a night was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It was, by this call.
    New,
    /// It was before.
    Known,
}

/// Which nights are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nights {
    /// Of this schedule of a project.
    Of(String, Name),
    /// Of all schedules of a project, but only those in which something is left to do.
    Open(String),
}

/// A message on its way out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The project that it belongs to, whose channels and keys send it; empty for the user's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// What identifies it. A second one with the same key is not taken.
    pub key: String,
    /// By which way: a name of the configuration.
    pub channel: String,
    /// What is to be told.
    pub payload: serde_json::Value,
    /// When it may be sent, if not at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

/// How far a project has read something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The project; empty for the user's own configuration.
    pub project: &'a str,
    /// What it reads.
    pub name: &'a str,
}

/// A message in the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    /// What is to be sent.
    pub message: Message,
    /// How often it was tried.
    pub attempts: u32,
    /// When it may be tried.
    pub due: Timestamp,
    /// How far it is.
    pub state: Post,
    /// Why the last try failed.
    pub error: Option<String>,
    /// The right of whoever took it to write down what became of it.
    pub fence: Option<Fence>,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Post {
    /// It waits to be sent.
    Waiting,
    /// It was sent.
    Sent,
    /// It was tried too often.
    GivenUp,
}

impl Post {
    /// All of them with their names, as stores write them.
    pub const ALL: [(&str, Self); 3] =
        [("waiting", Self::Waiting), ("sent", Self::Sent), ("given_up", Self::GivenUp)];
}

/// What became of a message that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrived.
    Done,
    /// It did not; try again after a while.
    Again {
        /// Why not.
        error: String,
        /// How long to wait.
        after: Duration,
    },
    /// It did not, and never will.
    Never {
        /// Why not.
        error: String,
    },
}

/// A leg that waits for a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its task.
    pub task: TaskId,
    /// When it may be claimed.
    pub not_before: Timestamp,
}

/// The part of the store that the daemon keeps.
pub trait Ledger {
    /// What is known of a project's schedule. Asking for one that is not known makes it known, from now on.
    fn schedule(&mut self, project: &str, name: &Name) -> Result<Standing>;

    /// Pauses a project's schedule, or resumes it: then what was due meanwhile is not made up for.
    fn follow(&mut self, project: &str, name: &Name, follow: Follow) -> Result<()>;

    /// Records a new night, unless there is one of its schedule and nominal time.
    fn record(&mut self, night: &Night) -> Result<Recorded>;

    /// Nights, newest first, at most so many.
    fn nights(&mut self, which: &Nights, limit: u32) -> Result<Vec<Night>>;

    /// Writes a night down, with messages about it, in one transaction. `None` if somebody else wrote since it was read.
    fn keep(&mut self, night: &Night, messages: &[Message]) -> Result<Option<Night>>;

    /// Puts messages into the outbox and, in the same transaction, remembers how far was read.
    fn post(&mut self, messages: &[Message], read: Option<(Mark<'_>, i64)>) -> Result<()>;

    /// How far was read.
    fn mark(&mut self, mark: Mark<'_>) -> Result<Option<i64>>;

    /// Takes a message of a project that is due and that nobody holds, and counts the try.
    fn take(&mut self, project: &str, lease: Duration) -> Result<Option<Letter>>;

    /// Writes down what became of it. Nothing happens if it is somebody else's by now.
    fn delivered(&mut self, letter: &Letter, delivery: &Delivery) -> Result<()>;

    /// Messages, newest first, at most so many.
    fn letters(&mut self, limit: u32) -> Result<Vec<Letter>>;

    /// When the next message of a project is due, if one waits.
    fn next_letter(&mut self, project: &str) -> Result<Option<Timestamp>>;

    /// Legs that wait for a harness, those that are claimed first before the others, at most so many.
    fn ready(&mut self, limit: u32) -> Result<Vec<Ready>>;
}
