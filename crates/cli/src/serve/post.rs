//! What people are told: events that somebody wants to know of become messages, and messages are sent.

use acquit_core::agent::shorten;
use acquit_core::change::Change;
use acquit_core::config::notify::Told;
use acquit_core::event::{Body, Event};
use acquit_core::night::key;
use acquit_core::store::{Delivery, Mark, Store, each_event};
use acquit_core::task::End;
use acquit_run::notify::{self, Notice};

use super::{Busy, Daemon, Home, log};
use crate::desk::Desk;
use crate::error::Error;

/// How far events were read for notices, by this name in the store.
const MARK: &str = "notify";
/// How many events are read at once.
const PAGE: u32 = 500;
/// The longest text of a notice.
const TEXT: usize = 2_000;

impl Daemon<'_> {
    /// Makes messages of what happened since it was last looked.
    pub(super) fn tell(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        if self.waits {
            // Whom to tell stands in files that are not trusted at the moment.
            return Ok(());
        }
        // Each project reads for itself, and is told of its own tasks.
        let project = self.home.project();
        let mark = Mark { project: &project, name: MARK };
        let told = !self.home.config.notices.channels.is_empty();
        let Some(mut after) = store.mark(mark)? else {
            // What happened before anybody wanted to know is not news.
            let newest = newest(store)?;
            return Ok(store.post(&[], Some((mark, newest)))?);
        };
        loop {
            let events = store.events(None, after, PAGE)?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.seq;
            let mut messages = Vec::new();
            for event in events.iter().filter(|_| told) {
                if let Some((what, notice)) = notice(store, &self.home, event)? {
                    let key = format!("event/{}", event.seq);
                    messages.extend(notify::messages(&self.home.config, &project, what, &key, &notice, None));
                }
            }
            // In one transaction: nothing is told twice, and nothing is left out.
            store.post(&messages, Some((mark, after)))?;
            if events.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Sees to it that messages which are due are sent, by a process beside this one: a server that does not answer holds up nothing.
    pub(super) fn send(&mut self, store: &mut dyn Store) -> Result<Busy, Error> {
        if let Some(sender) = &mut self.sender {
            if !sender.has_ended().unwrap_or(true) {
                return Ok(Busy::Yes);
            }
            self.sender = None;
        }
        if self.waits {
            return Ok(Busy::No);
        }
        let now = store.now()?;
        if store.next_letter(&self.home.project())?.is_none_or(|due| due > now) {
            return Ok(Busy::No);
        }
        self.sender = Some(self.beside(&["post"])?);
        Ok(Busy::Yes)
    }
}

/// Sends every message that is due: `acquit post`, a process of its own. What it took when it was killed is sent by another.
pub fn post(desk: &Desk) -> Result<(), Error> {
    let mut store = desk.store()?;
    let home = Home::read(desk)?.trusted()?;
    while let Some(letter) = store.take(&home.project(), notify::LEASE)? {
        let delivery = notify::deliver(&desk.world, &home.config, &home.top, &letter);
        let key = &letter.message.key;
        match &delivery {
            Delivery::Done => log(desk, "sent", key),
            Delivery::Again { error, after } => {
                log(desk, "unsent", &format!("{key}: {error}; again in {}s", after.as_secs()));
            }
            Delivery::Never { error } => log(desk, "unsent", &format!("{key}: {error}; given up")),
        }
        store.delivered(&letter, &delivery)?;
    }
    Ok(())
}

/// What an event is worth telling, if it is.
fn notice(store: &mut dyn Store, home: &Home, event: &Event) -> Result<Option<(Told, Notice)>, Error> {
    let Body::Change { change } = &event.body else { return Ok(None) };
    let (what, words, text) = match change {
        Change::RequestOpened { request } => (Told::NeedsPerson, "needs you", request.question.clone()),
        Change::Ended { end: End::Done } => (Told::Done, "is done", String::new()),
        Change::Ended { end: End::Failed { reason } } => (Told::Failed, "failed", reason.clone()),
        Change::Ended { end: End::NoImprovement } => (Told::Done, "found nothing to improve", String::new()),
        _ => return Ok(None),
    };
    let task = store.task(event.task)?;
    if !home.owns(&task) {
        return Ok(None);
    }
    // What a night came to is told in the morning, once.
    if what != Told::NeedsPerson && task.seed.wish.metadata.contains_key(key::SCHEDULE) {
        return Ok(None);
    }
    let (id, title) = (event.task, &task.seed.wish.title);
    let answer = match what {
        Told::NeedsPerson => format!("\n\nAnswer with `acquit answer {id}`, or look at `acquit inbox`."),
        Told::Done | Told::Failed | Told::Report => String::new(),
    };
    let notice = Notice {
        event: what.word().to_owned(),
        title: format!("{id} {words}: {}", shorten(title, 100)),
        text: format!("{}: {}{answer}", task.seed.project.name, shorten(&text, TEXT)),
        link: super::memory::link(&task),
        task: Some(id.to_string()),
        page: None,
    };
    Ok(Some((what, notice)))
}

/// The number of the newest event.
fn newest(store: &mut dyn Store) -> Result<i64, Error> {
    let mut newest = 0;
    each_event(store, None, |event| newest = event.seq)?;
    Ok(newest)
}
