//! Sends messages of the outbox to people, through the configured channel.
//!
//! A message is sent at least once. The sender may die after sending and before recording that, so most channels have
//! a way to recognize a duplicate: ntfy replaces a message with the same sequence id, a webhook has the message's key
//! in a header, a file and a page contain each report under its key, and mail has the same message id. Slack, Discord
//! and Teams have no such feature: a message may arrive there twice. Errors contain no secrets and no addresses with
//! one.

mod confluence;
mod desktop;
mod discord;
mod email;
mod file;
mod http;
mod incoming;
mod ntfy;
mod sign;
mod slack;
mod smtp;
mod teams;
mod webhook;

use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::config::Config;
use acquit_core::config::notify::{Channel, Told};
use acquit_core::ids::Name;
use acquit_core::store::{Delivery, Letter, Message};
use acquit_core::time::{Timestamp, backoff};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::leg::chain;
use crate::runtime::Runtime;
use crate::secrets::{Secret, Vault};

pub use http::{TIME_LIMIT, send_json};
pub use sign::{REPLAY_WINDOW, Rejected, signature, verify};

/// Wait after the first failure. Doubles each time.
const FIRST: Duration = Duration::from_secs(10);
/// Maximum wait. Short enough to notice soon that a server is back.
const LONGEST: Duration = Duration::from_hours(1);
/// Maximum number of attempts, which take about half a day. An undelivered message is old news by then.
const MOST: u32 = 18;
/// Channel of the report file.
const FILE: &str = "report.file";
/// Channel of the report page.
const PAGE: &str = "report.confluence";
/// Prefix of the channels of `[notify]`.
const NOTIFY: &str = "notify.";

/// How long the sender holds a message: longer than sending can take.
pub const LEASE: Duration = Duration::from_mins(5);

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What happened: a word of `events` in the configuration.
    pub event: String,
    /// One-line title.
    pub title: String,
    /// Text, as Markdown.
    pub text: String,
    /// Link to details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Task id, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Short name of the repository, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Question to answer, by its number within the task. Once it is answered, the notification is no longer sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u32>,
    /// Links that answer the question. Not in the store: they are added when the message is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerWay>,
    /// Key of the earlier message that this one replaces, without its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Report for a page, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// A link that answers a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerWay {
    /// Label of the link.
    pub label: String,
    /// Address.
    pub link: String,
}

impl Notice {
    /// Returns whether it should get attention at once.
    fn is_urgent(&self) -> bool {
        self.event == Told::NeedsPerson.word() || self.event == Told::Failed.word()
    }
}

/// Event name of a message that replaces a question, because someone answered it.
pub const ANSWERED: &str = "answered";

/// Creates the messages that replace a question, one for each channel that got it and can replace a message.
pub fn updates(config: &Config, project: &str, key: &str, notice: &Notice, now: Timestamp) -> Vec<Message> {
    let mut all = messages(config, project, Told::NeedsPerson, key, notice, now, None);
    all.retain(|message| {
        let name = message.channel.strip_prefix(NOTIFY).unwrap_or_default();
        let channel = config.notices.channels.get(name);
        channel.is_some_and(
            |channel| acquit_core::each_channel!(&channel.target, settings => settings.can_replace()),
        )
    });
    all
}

/// Returns the channel of a message, if messages there may have links that answer.
pub fn answered_by_link<'c>(config: &'c Config, message: &Message) -> Option<&'c Name> {
    let (name, channel) = config.notices.channels.get_key_value(message.channel.strip_prefix(NOTIFY)?)?;
    channel.answer_links.then_some(name)
}

/// Creates the messages about an event, one for each channel that wants it. `project` owns the channels; `key`
/// identifies the event. `not_before` delays channels that reach people directly; files and pages wake no one up.
pub fn messages(
    config: &Config,
    project: &str,
    told: Told,
    key: &str,
    notice: &Notice,
    now: Timestamp,
    not_before: Option<Timestamp>,
) -> Vec<Message> {
    let later = |channel: String, notice: &Notice, not_before| {
        let payload = serde_json::to_value(notice).unwrap_or_default();
        Message { project: project.to_owned(), key: format!("{key}/{channel}"), channel, payload, not_before }
    };
    let to = |channel: String, notice: &Notice| later(channel, notice, None);
    let brief = Notice { page: None, ..notice.clone() };
    let wants = |(_, channel): &(&Name, &Channel)| channel.wants(told, notice.project.as_deref());
    let channels = config.notices.channels.iter().filter(wants).map(|(name, channel)| {
        let moment = not_before.unwrap_or(now);
        let hours = channel.hours.and_then(|hours| hours.later(moment, &TimeZone::system()));
        later(format!("{NOTIFY}{name}"), &brief, hours.or(not_before))
    });
    let mut all: Vec<Message> = channels.collect();
    if told == Told::Report {
        all.extend(config.notices.report.file.as_ref().map(|_| to(FILE.to_owned(), &brief)));
        all.extend(config.notices.report.confluence.as_ref().map(|_| to(PAGE.to_owned(), notice)));
    }
    all
}

/// Event name of a stage's message.
pub const OF_STAGES: &str = "notify";

/// Creates the messages of a stage for these channels or, if there are none, for all. Ignores which events a channel
/// wants, because the workflow asks for it. Leaves out channels that no longer exist.
pub fn messages_to(
    config: &Config,
    project: &str,
    channels: &[Name],
    key: &str,
    notice: &Notice,
) -> Vec<Message> {
    let known = config.notices.channels.keys();
    let wanted = known.filter(|name| channels.is_empty() || channels.contains(name));
    let payload = serde_json::to_value(notice).unwrap_or_default();
    wanted
        .map(|name| {
            let channel = format!("{NOTIFY}{name}");
            let key = format!("{key}/{channel}");
            Message { project: project.to_owned(), key, channel, payload: payload.clone(), not_before: None }
        })
        .collect()
}

/// Why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("find the channel {0}: the configuration has none of that name any more")]
    NoChannel(String),
    #[error("understand the message")]
    Form(#[source] serde_json::Error),
    #[error("get what it is signed or sent with")]
    Secret(#[source] crate::secrets::Error),
    #[error("send it: {0}")]
    Away(String),
    #[error("send it: the server answered {status}{words}")]
    Refused { status: u16, words: String, after: Option<Duration> },
    #[error("send it: the mail server answered {code} {words}")]
    Mail { code: u16, words: String },
    #[error("understand what the server answered: {0}")]
    Nonsense(&'static str),
    #[error("write {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Sends a message and returns the result. Relative paths of the configuration start at `top`.
pub fn deliver(runtime: &Runtime, config: &Config, top: &Path, letter: &Letter) -> Delivery {
    let vault = Vault::new(config, &runtime.environment, &runtime.spawner);
    let result = send(runtime, config, &vault, top, letter);
    let Err(error) = result else { return Delivery::Done };
    let redactor = crate::secrets::known(&vault, config, &runtime.environment);
    let words = redactor.text(&format!("failed to {}", chain(&error)));
    if is_final(&error) || letter.attempts >= MOST {
        return Delivery::Never { error: words };
    }
    let asked = match &error {
        Error::Refused { after, .. } => *after,
        _ => None,
    };
    Delivery::Again { error: words, after: asked.unwrap_or_default().max(wait(letter.attempts)).min(LONGEST) }
}

/// Returns all paths that writing a report file uses: the file itself, and files that a killed writer may leave.
pub(crate) fn written(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), file::new(path)]
}

/// Returns the wait after this many attempts.
fn wait(attempts: u32) -> Duration {
    backoff(FIRST, attempts.saturating_sub(1), LONGEST)
}

/// Returns whether a retry cannot help, because the message itself is rejected. A login or an address may be fixed in
/// the meantime.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Refused { status, .. } => matches!(status, 400 | 405 | 406 | 410 | 411 | 413..=415 | 422),
        // 530, 534 and 535 are about the login, 552 is about a full mailbox: those may be fixed.
        Error::Mail { code, .. } => (500..600).contains(code) && ![530, 534, 535, 552].contains(code),
        Error::NoChannel(_) | Error::Form(_) => true,
        Error::Secret(_) | Error::Away(_) | Error::Nonsense(_) | Error::File { .. } => false,
    }
}

fn send(
    runtime: &Runtime,
    config: &Config,
    vault: &Vault<'_>,
    top: &Path,
    letter: &Letter,
) -> Result<(), Error> {
    let Message { project: _, key, channel, payload, not_before: _ } = &letter.message;
    let notice: Notice = serde_json::from_value(payload.clone()).map_err(Error::Form)?;
    let gone = || Error::NoChannel(channel.clone());
    let secret = |name: &String| vault.resolve(name).map_err(Error::Secret);
    match channel.as_str() {
        FILE => {
            let name = config.notices.report.file.as_deref().ok_or_else(gone)?;
            file::add(&top.join(name), key, &notice.text)
        }
        PAGE => {
            let page = config.notices.report.confluence.as_ref().ok_or_else(gone)?;
            confluence::add(page, &secret(&page.token)?, key, notice.page.as_deref().unwrap_or_default())
        }
        other => {
            let name = other.strip_prefix(NOTIFY).ok_or_else(gone)?;
            let channel = config.notices.channels.get(name).ok_or_else(gone)?;
            let same = notice.replaces.as_ref().map(|replaced| format!("{replaced}/{other}"));
            let seconds = (runtime.now)().0 / 1_000;
            let place = same.as_deref().unwrap_or(key);
            let envelope = Envelope { key, place, notice: &notice, seconds, runtime };
            let secret = |name: &str| vault.resolve(name).map_err(Error::Secret);
            acquit_core::each_channel!(&channel.target, settings => settings.send(&envelope, &secret))
        }
    }
}

/// A message as a channel sends it.
struct Envelope<'e> {
    /// Identifies the event: a message that is sent twice has the same key.
    key: &'e str,
    /// The same for a message and those that replace it.
    place: &'e str,
    notice: &'e Notice,
    /// Time, in seconds since 1970.
    seconds: i64,
    /// For channels that start programs.
    runtime: &'e Runtime,
}

/// Returns the value of a secret by name.
type Secrets<'s> = dyn Fn(&str) -> Result<Secret, Error> + 's;

/// Sends messages of one kind of channel. The settings of each kind implement it in the file of that kind.
trait Send {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error>;

    /// Returns whether a later message can replace an earlier one.
    fn can_replace(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_come_ever_later_and_end() {
        assert_eq!([1, 2, 3].map(|attempts| wait(attempts).as_secs()), [10, 20, 40]);
        assert_eq!(wait(u32::MAX), LONGEST);
        let all: Duration = (1..MOST).map(wait).sum();
        assert!((Duration::from_hours(6)..Duration::from_hours(24)).contains(&all), "{all:?}");
    }

    #[test]
    fn a_message_that_is_not_wanted_is_not_sent_again_and_a_server_in_trouble_is_asked_again() {
        let refused = |status| is_final(&Error::Refused { status, words: String::new(), after: None });
        assert!([400, 410, 413, 422].into_iter().all(refused));
        assert!(![401, 403, 404, 408, 409, 429, 500, 502, 503, 504].into_iter().any(refused));
    }
}
