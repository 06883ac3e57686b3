//! The daemon's part of the store. Each method is one transaction.

use std::time::Duration;

use acquit_core::ids::Name;
use acquit_core::night::Night;
use acquit_core::store::{
    Delivery, Follow, Ledger, Letter, Mark, Message, Nights, Recorded, Result, Standing,
};
use acquit_core::time::Timestamp;

use super::Database;
use crate::record::{plain, read};
use crate::tables::{Backend, Tables, Touched};
use crate::tables::{DeliveryRow, LetterRow, MessageRow, NightRow};
use crate::tx_error;

/// Notification for listeners that watch more than tasks: no task has this number.
const NO_TASK: i64 = 0;

impl<B: Backend> Ledger for Database<B> {
    fn schedule(&mut self, project: &str, name: &Name) -> Result<Standing> {
        self.write("say what it knows of a schedule", |tables, now| {
            tables.meet(&plain(project), name.as_str(), now)
        })
    }

    fn follow(&mut self, project: &str, name: &Name, follow: Follow) -> Result<()> {
        let project = plain(project);
        self.write("pause or resume a schedule", |tables, now| {
            let standing = tables.meet(&project, name.as_str(), now)?;
            let (since, paused) = match (follow, standing.paused) {
                (Follow::Yes, Some(_)) => (now, None),
                (Follow::Yes, None) => (standing.since, None),
                (Follow::No, paused) => (standing.since, Some(paused.unwrap_or(now))),
            };
            tables.set_followed(&project, name.as_str(), &Standing { since, paused })?;
            tables.announce(NO_TASK)
        })
    }

    fn record(&mut self, night: &Night) -> Result<Recorded> {
        self.write("record a night", |tables, _| {
            let touched = tables.insert_night(&NightRow::of(night)?)?;
            tables.announce(NO_TASK)?;
            Ok(match touched {
                Touched::Row => Recorded::New,
                Touched::Nothing => Recorded::Known,
            })
        })
    }

    fn nights(&mut self, which: &Nights, limit: u32) -> Result<Vec<Night>> {
        self.read("give nights", |tables| {
            let bodies = match which {
                Nights::Of(project, schedule) => {
                    tables.nights_of(&plain(project), schedule.as_str(), limit)?
                }
                Nights::Open(project) => tables.open_nights(&plain(project), limit)?,
            };
            bodies.iter().map(|body| read("night", body)).collect()
        })
    }

    fn keep(&mut self, night: &Night, messages: &[Message]) -> Result<Option<Night>> {
        let mut next = night.clone();
        next.version += 1;
        self.write("keep a night", |tables, now| {
            if tables.update_night(&NightRow::of(&next)?)? == Touched::Nothing {
                return Ok(None);
            }
            insert(tables, messages, now)?;
            tables.announce(NO_TASK)?;
            Ok(Some(next))
        })
    }

    fn post(&mut self, messages: &[Message], read: Option<(Mark<'_>, i64)>) -> Result<()> {
        self.write("take messages", |tables, now| {
            if let Some((mark, value)) = read {
                tables.set_mark(&Mark { project: &plain(mark.project), ..mark }, value)?;
            }
            insert(tables, messages, now)?;
            if messages.is_empty() { Ok(()) } else { tables.announce(NO_TASK) }
        })
    }

    fn mark(&mut self, mark: Mark<'_>) -> Result<Option<i64>> {
        let mark = Mark { project: &plain(mark.project), ..mark };
        self.read("say how far was read", |tables| tables.mark(&mark))
    }

    fn take(&mut self, project: &str, lease: Duration) -> Result<Option<Letter>> {
        let project = plain(project);
        self.write("give a message", |tables, now| {
            tables.take(&project, now, now.plus(lease))?.map(LetterRow::letter).transpose()
        })
    }

    fn delivered(&mut self, letter: &Letter, delivery: &Delivery) -> Result<()> {
        let Some(fence) = letter.fence else { return Ok(()) };
        self.write("keep what became of a message", |tables, now| {
            let row = match delivery {
                Delivery::Done => DeliveryRow { state: "sent", due: None, error: None },
                Delivery::Again { error, after } => {
                    DeliveryRow { state: "waiting", due: Some(now.plus(*after).0), error: Some(error) }
                }
                Delivery::Never { error } => DeliveryRow { state: "given_up", due: None, error: Some(error) },
            };
            let error = row.error.map(plain);
            let row = DeliveryRow { error: error.as_deref(), ..row };
            tables.deliver(fence.0, &row)
        })
    }

    fn letters(&mut self, limit: u32) -> Result<Vec<Letter>> {
        self.read("give messages", |tables| {
            tables.letters(limit)?.into_iter().map(LetterRow::letter).collect()
        })
    }

    fn next_letter(&mut self, project: &str) -> Result<Option<Timestamp>> {
        let project = plain(project);
        self.read("say when a message is due", |tables| Ok(tables.next_letter(&project)?.map(Timestamp)))
    }
}

fn insert(tables: &mut dyn Tables, messages: &[Message], now: Timestamp) -> tx_error::Result<()> {
    for message in messages {
        let due = message.not_before.map_or(now, |moment| moment.max(now));
        tables.insert_message(&MessageRow::of(message)?, due)?;
    }
    Ok(())
}
