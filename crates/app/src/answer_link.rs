//! Links in messages that answer one request to a person without a login.
//!
//! A link is for one request of one task. It names the channel through which it was sent, and is valid for [`LIFE`]. It
//! is signed with the key of the dashboard (`web/token`), so removing that file invalidates all links. A request is
//! answered once, and so a link answers at most once. Opening a link changes nothing: the page shows the request and
//! asks for a confirmation, because mail programs and chat services open links automatically.
//!
//! Links are created when a message is sent and are not in the store, so reading the outbox is not enough to answer.

use std::path::Path;
use std::time::Duration;

use acquit_core::human_request::{Ask, Kind};
use acquit_core::ids::{Name, StoreId, TaskId};
use acquit_core::task::{State, Task};
use acquit_core::time::Timestamp;
use acquit_run::notify::{signature, verify};

/// How long a link is valid: over a weekend.
pub const LIFE: Duration = Duration::from_hours(72);
/// Separates these signatures from others with the same key.
const PURPOSE: &str = "answer-link";
/// Maximum number of answer links in a message. The page behind each link offers all answers.
const WAYS: usize = 3;

/// A link that answers a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLink {
    /// Task.
    pub task: TaskId,
    /// Number of the request.
    pub request: u32,
    /// Channel of the message.
    pub channel: Name,
    /// End of its validity, in seconds since 1970.
    pub until: i64,
}

/// Why a link cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was not made here.
    Forged,
    /// It is too old.
    Expired,
}

/// A possible answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Label of the link.
    pub label: String,
    /// Number of the choice that the page asks to confirm, from 1 on; see [`choices`].
    pub choice: Option<usize>,
}

/// Returns the key that signs links, if a dashboard was served from this home.
pub fn key(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("web/token")).ok()?;
    Some(text.trim().to_owned()).filter(|key| !key.is_empty())
}

impl AnswerLink {
    /// Creates a link that is valid from now on.
    pub fn new(task: TaskId, request: u32, channel: Name, now: Timestamp) -> Self {
        let until = now.0 / 1_000 + i64::try_from(LIFE.as_secs()).unwrap_or(0);
        Self { task, request, channel, until }
    }

    fn signed_text(&self, store: &StoreId) -> String {
        format!("{store} {} {} {}", self.task, self.request, self.channel)
    }

    /// Returns the last part of its address.
    pub fn ticket(&self, key: &str, store: &StoreId) -> String {
        let signed = signature(key.as_bytes(), PURPOSE, self.until, &self.signed_text(store));
        let hex = signed.trim_start_matches("v1=");
        format!("{}.{}.{}.{}.{hex}", self.task, self.request, self.channel, self.until)
    }

    /// Reads and verifies the last part of an address.
    pub fn read(ticket: &str, key: &str, store: &StoreId, now: Timestamp) -> Result<Self, Refused> {
        let read = || {
            let mut parts = ticket.split('.');
            let mut next = || parts.next();
            let link = Self {
                task: next()?.parse().ok()?,
                request: next()?.parse().ok()?,
                channel: next()?.parse().ok()?,
                until: next()?.parse().ok()?,
            };
            let hex = next()?;
            next().is_none().then_some((link, hex))
        };
        let (link, hex) = read().ok_or(Refused::Forged)?;
        let (text, signed) = (link.signed_text(store), format!("v1={hex}"));
        verify(key.as_bytes(), PURPOSE, link.until, &text, &signed, link.until)
            .map_err(|_| Refused::Forged)?;
        if now.0 / 1_000 >= link.until { Err(Refused::Expired) } else { Ok(link) }
    }
}

/// Returns the choices that answer a request as they are, in order. `approve` for an approval. Untrusted text.
pub fn choices(ask: &Ask) -> Vec<String> {
    match ask {
        Ask::Question { questions } => match questions.as_slice() {
            [only] if only.kind == Kind::YesNo => vec!["yes".to_owned(), "no".to_owned()],
            [only] => only.options.iter().map(|option| option.name.clone()).collect(),
            [] | [_, _, ..] => Vec::new(),
        },
        Ask::Choice { options } => options.iter().map(ToString::to_string).collect(),
        Ask::Stage { outcomes } => outcomes.iter().map(ToString::to_string).collect(),
        Ask::Approval { .. } => vec!["approve".to_owned()],
        Ask::Budget { .. } | Ask::Stuck => Vec::new(),
    }
}

/// Returns the ways to answer the open request of a task, for the links of a message.
pub fn ways(task: &Task) -> Vec<Way> {
    let State::Waiting { request } = &task.state else { return Vec::new() };
    let choices = choices(&request.ask);
    // The page of the last link offers all answers.
    let last = match (&request.ask, choices.len()) {
        (Ask::Approval { .. }, _) => "reject",
        (_, 0) => "answer",
        (_, _) => "other",
    };
    let choices = (1..).zip(choices).map(|(number, label)| Way { label, choice: Some(number) });
    let mut ways: Vec<Way> = choices.take(WAYS - 1).collect();
    ways.push(Way { label: last.to_owned(), choice: None });
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_holds_for_one_request_of_one_store_and_some_days() {
        let store: StoreId = "0a1b2c3d".parse().expect("an id");
        let other: StoreId = "0a1b2c3e".parse().expect("an id");
        let now = Timestamp(1_000_000);
        let link = AnswerLink::new("T-1".parse().expect("a task"), 2, Name::literal("phone"), now);
        let ticket = link.ticket("key", &store);
        assert_eq!(AnswerLink::read(&ticket, "key", &store, now), Ok(link.clone()));
        let last = Timestamp(link.until * 1_000);
        assert_eq!(AnswerLink::read(&ticket, "key", &store, last), Err(Refused::Expired));
        for (ticket, key, store) in [
            (ticket.as_str(), "another", &store),
            (ticket.as_str(), "key", &other),
            (&ticket.replace("T-1", "T-2"), "key", &store),
            (&ticket.replace(".2.", ".3."), "key", &store),
            (&ticket.replace("phone", "other"), "key", &store),
            (&ticket.replace(&link.until.to_string(), &(link.until + 1).to_string()), "key", &store),
            (&format!("{ticket}.x"), "key", &store),
            (&ticket[..ticket.len() - 1], "key", &store),
            ("", "key", &store),
        ] {
            assert_eq!(AnswerLink::read(ticket, key, store, now), Err(Refused::Forged), "{ticket}");
        }
    }
}
