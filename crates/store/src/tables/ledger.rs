//! Operations on the daemon's rows that a database must support: schedules, nights, the outbox, marks.

use acquit_core::ids::Fence;
use acquit_core::night::Night;
use acquit_core::store::{Letter, Mark, Message, Post, Standing};
use acquit_core::time::Timestamp;

use super::Touched;
use crate::record::{json, number, read};
use crate::row::read_row;
use crate::tx_error::{Result, TxError};

/// Rows of the daemon within one transaction.
pub(crate) trait LedgerTables {
    /// Returns the state of a project's schedule. If there is none, first inserts the state of the schedule of this
    /// name from before projects were distinguished, or else one that starts at `since`.
    fn meet(&mut self, project: &str, name: &str, since: Timestamp) -> Result<Standing>;
    fn set_followed(&mut self, project: &str, name: &str, to: &Standing) -> Result<()>;
    fn insert_night(&mut self, night: &NightRow) -> Result<Touched>;
    /// Updates a night whose stored version precedes this one's.
    fn update_night(&mut self, night: &NightRow) -> Result<Touched>;
    /// Returns the bodies of a schedule's nights, newest first.
    fn nights_of(&mut self, project: &str, schedule: &str, limit: u32) -> Result<Vec<String>>;
    /// Returns the bodies of a project's open nights.
    fn open_nights(&mut self, project: &str, limit: u32) -> Result<Vec<String>>;
    fn insert_message(&mut self, message: &MessageRow, due: Timestamp) -> Result<()>;
    fn set_mark(&mut self, mark: &Mark<'_>, value: i64) -> Result<()>;
    /// Returns the read position of a project, or the one from before projects were distinguished.
    fn mark(&mut self, mark: &Mark<'_>) -> Result<Option<i64>>;
    fn take(&mut self, project: &str, now: Timestamp, lease_until: Timestamp) -> Result<Option<LetterRow>>;
    /// Records the delivery result of the message that was taken with this fence.
    fn deliver(&mut self, fence: i64, to: &DeliveryRow<'_>) -> Result<()>;
    fn letters(&mut self, limit: u32) -> Result<Vec<LetterRow>>;
    fn next_letter(&mut self, project: &str) -> Result<Option<i64>>;
}

/// Row of a night.
pub(crate) struct NightRow {
    pub(crate) project: String,
    pub(crate) schedule: String,
    pub(crate) nominal: i64,
    pub(crate) state: &'static str,
    pub(crate) version: i64,
    pub(crate) body: String,
}

impl NightRow {
    pub(crate) fn of(night: &Night) -> Result<Self> {
        Ok(Self {
            project: crate::record::plain(&night.project),
            schedule: night.schedule.to_string(),
            nominal: night.nominal.0,
            state: night.state.word(),
            version: number(night.version),
            body: json("night", night)?,
        })
    }
}

/// Row of a message.
pub(crate) struct MessageRow {
    pub(crate) project: String,
    pub(crate) key: String,
    pub(crate) channel: String,
    pub(crate) payload: String,
}

impl MessageRow {
    pub(crate) fn of(message: &Message) -> Result<Self> {
        Ok(Self {
            project: crate::record::plain(&message.project),
            key: crate::record::plain(&message.key),
            channel: crate::record::plain(&message.channel),
            payload: json("message", &message.payload)?,
        })
    }
}

/// Delivery result of a message.
pub(crate) struct DeliveryRow<'a> {
    pub(crate) state: &'static str,
    pub(crate) due: Option<i64>,
    pub(crate) error: Option<&'a str>,
}

read_row! {
    /// A message in the outbox, as stored.
    LetterRow, letter_columns {
        key: String,
        channel: String,
        payload: String,
        state: String,
        due: i64,
        attempts: i64,
        fence: Option<i64>,
        error: Option<String>,
        project: String,
    }
}

impl LetterRow {
    pub(crate) fn letter(self) -> Result<Letter> {
        let what = format!("message {}", self.key);
        let state = Post::ALL
            .iter()
            .find(|(name, _)| *name == self.state)
            .ok_or_else(|| TxError::corrupt(&what, format!("unknown state `{}`", self.state)))?;
        Ok(Letter {
            message: Message {
                payload: read(&what, &self.payload)?,
                key: self.key,
                project: self.project,
                channel: self.channel,
                // It is stored as the time when the letter is due.
                not_before: None,
            },
            attempts: u32::try_from(self.attempts).unwrap_or(u32::MAX),
            due: Timestamp(self.due),
            state: state.1,
            error: self.error,
            fence: self.fence.map(Fence),
        })
    }
}
