//! The outbox: turns events that people want to know about into messages, and sends them.

use acquit_core::agent::shorten;
use acquit_core::change::Change;
use acquit_core::config::notify::Told;
use acquit_core::event::{Body, Event};
use acquit_core::ids::Name;
use acquit_core::night::key;
use acquit_core::store::{self, Delivery, Letter, Mark, Store};
use acquit_core::task::{End, State, Task};
use acquit_run::notify::{self, Notice};

use super::{Busy, Daemon, Home, log};
use crate::app::App;
use crate::error::Error;

/// Name in the store of the position up to which events were read for notices.
const MARK: &str = "notify";
/// Number of events to read at once.
const PAGE: u32 = 500;
/// Maximum length of a notice.
const TEXT: usize = 2_000;

impl Daemon<'_> {
    /// Creates messages for what happened since the last call.
    pub(super) fn tell(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        if self.waits {
            // The configuration of the channels is not trusted at the moment.
            return Ok(());
        }
        // Each project has its own position, and gets messages about its own tasks.
        let project = self.home.project();
        let mark = Mark { project: &project, name: MARK };
        let told = !self.home.config.notices.channels.is_empty();
        let (now, dashboard) = (store.now()?, self.dashboard_address());
        let Some(mut after) = store.mark(mark)? else {
            // Nothing was read yet for this project: what happened before now is not news.
            let newest = crate::index::newest_event(store, 0)?;
            return Ok(store.post(&[], Some((mark, newest)))?);
        };
        loop {
            let events = store.events(None, after, PAGE)?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.seq;
            let mut messages = Vec::new();
            for event in events.iter().filter(|_| told) {
                let key = format!("event/{}", event.seq);
                if let Body::Notify { text, channels } = &event.body {
                    let Some(notice) = of_stage(store, &self.home, event, text)? else { continue };
                    messages.extend(notify::messages_to(
                        &self.home.config,
                        &project,
                        channels,
                        &key,
                        &notice,
                    ));
                } else if let Some((what, notice)) = notice(store, &self.home, event, dashboard.as_deref())? {
                    messages.extend(notify::messages(
                        &self.home.config,
                        &project,
                        what,
                        &key,
                        &notice,
                        now,
                        None,
                    ));
                }
            }
            // In one transaction, so that nothing is sent twice or left out.
            store.post(&messages, Some((mark, after)))?;
            if events.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Returns the URL of the dashboard, if the daemon serves one.
    fn dashboard_address(&self) -> Option<String> {
        self.options.dashboard.as_ref()?;
        let written = std::fs::read_to_string(self.app.surroundings.home.join("web/address")).ok()?;
        Some(written.trim().to_owned()).filter(|address| address.starts_with("http"))
    }

    /// Sends messages that are due in a separate process, so that a server that does not answer blocks nothing.
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

/// `acquit post`: sends every message that is due, in a separate process. If it is killed, another one sends what it
/// had taken.
pub fn send(app: &App) -> Result<(), Error> {
    let mut store = app.store()?;
    let home = Home::read(app)?.trusted()?;
    while let Some(letter) = store.take(&home.project(), notify::LEASE)? {
        // A message can wait for hours: for its server, or for the end of the night.
        let delivery = if is_answered(store.as_mut(), &letter)? {
            Delivery::Never { error: "nobody has to answer any more".to_owned() }
        } else {
            notify::deliver(&app.runtime, &home.config, &home.top, &letter)
        };
        let key = &letter.message.key;
        match &delivery {
            Delivery::Done => log(app, "sent", key),
            Delivery::Again { error, after } => {
                log(app, "unsent", &format!("{key}: {error}; again in {}s", after.as_secs()));
            }
            Delivery::Never { error } => log(app, "unsent", &format!("{key}: {error}; given up")),
        }
        store.delivered(&letter, &delivery)?;
    }
    Ok(())
}

/// Returns whether a task still waits for the answer to this request.
fn is_open(task: &Task, request: u32) -> bool {
    matches!(&task.state, State::Waiting { request: open } if open.number == request)
}

/// Returns whether a message asks for an answer that was given or is no longer needed.
fn is_answered(store: &mut dyn Store, letter: &Letter) -> Result<bool, Error> {
    let payload = &letter.message.payload;
    let task = payload.get("task").and_then(|task| task.as_str()).and_then(|task| task.parse().ok());
    let request = payload.get("request").and_then(serde_json::Value::as_u64);
    let (Some(task), Some(request)) = (task, request.and_then(|number| u32::try_from(number).ok())) else {
        return Ok(false);
    };
    match store.task(task) {
        Ok(task) => Ok(!is_open(&task, request)),
        Err(store::Error::NoTask(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Returns the notice for an event, if it is worth one.
fn notice(
    store: &mut dyn Store,
    home: &Home,
    event: &Event,
    dashboard: Option<&str>,
) -> Result<Option<(Told, Notice)>, Error> {
    let Body::Change { change } = &event.body else { return Ok(None) };
    let (what, words, text) = match change {
        Change::RequestOpened { request } => (Told::NeedsPerson, "needs you", request.question.clone()),
        Change::Ended { end: End::Done } => (Told::Done, "is done", String::new()),
        Change::Ended { end: End::Failed { reason } } => (Told::Failed, "failed", reason.clone()),
        Change::Ended { end: End::NoImprovement } => (Told::Done, "found nothing to improve", String::new()),
        _ => return Ok(None),
    };
    let task = store.task(event.task)?;
    let request = match change {
        Change::RequestOpened { request } => Some(request.number),
        _ => None,
    };
    if !home.owns(&task) || request.is_some_and(|number| !is_open(&task, number)) {
        return Ok(None);
    }
    // The results of a night are reported once, in the morning.
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
        link: link(&task, request, dashboard),
        task: Some(id.to_string()),
        project: Some(task.seed.project.name.clone()),
        request,
        page: None,
    };
    Ok(Some((what, notice)))
}

/// Returns a link with details: the request on the dashboard, the pull request, or the task on the dashboard.
fn link(task: &Task, request: Option<u32>, dashboard: Option<&str>) -> Option<String> {
    let id = task.id();
    match (request, dashboard) {
        (Some(number), Some(dashboard)) => Some(format!("{dashboard}/inbox#request-{id}-{number}")),
        (None, Some(dashboard)) => {
            super::memory::link(task).or_else(|| Some(format!("{dashboard}/tasks/{id}")))
        }
        (_, None) => super::memory::link(task),
    }
}

/// Result of a test message.
pub struct Tested {
    /// Name of the channel.
    pub name: Name,
    /// Why it was not delivered.
    pub trouble: Option<String>,
}

/// Sends a test message through every channel of the configuration, or through one.
pub fn test_channels(app: &App, only: Option<&Name>) -> Result<Vec<Tested>, Error> {
    let home = Home::read(app)?.trusted()?;
    let known: Vec<&Name> = home.config.notices.channels.keys().collect();
    if let Some(name) = only.filter(|name| !known.contains(name)) {
        let known = known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none; declare one as [notify.NAME]".to_owned() } else { known };
        return Err(Error::NoSuch { doing: "test the channel", name: name.to_string(), known });
    }
    let now = (app.runtime.now)();
    let notice = Notice {
        event: notify::OF_STAGES.to_owned(),
        title: "acquit: test message".to_owned(),
        text: format!("This channel works. Sent by `acquit notify test` on {}.", app.surroundings.host),
        link: None,
        task: None,
        project: None,
        request: None,
        page: None,
    };
    let wanted = known.into_iter().filter(|name| only.is_none_or(|only| only == *name));
    let each = wanted.map(|name| {
        let key = format!("test/{}", now.0);
        let mut messages =
            notify::messages_to(&home.config, &home.project(), std::slice::from_ref(name), &key, &notice);
        let delivery = messages.pop().map(|message| {
            let letter = Letter {
                message,
                attempts: 1,
                due: now,
                state: store::Post::Waiting,
                error: None,
                fence: None,
            };
            notify::deliver(&app.runtime, &home.config, &home.top, &letter)
        });
        let trouble = match delivery {
            Some(Delivery::Again { error, .. } | Delivery::Never { error }) => Some(error),
            Some(Delivery::Done) | None => None,
        };
        Tested { name: name.clone(), trouble }
    });
    Ok(each.collect())
}

/// Returns the message of a stage, if its task belongs to this project.
fn of_stage(store: &mut dyn Store, home: &Home, event: &Event, text: &str) -> Result<Option<Notice>, Error> {
    let task = store.task(event.task)?;
    if !home.owns(&task) {
        return Ok(None);
    }
    let first = text.lines().next().unwrap_or_default();
    Ok(Some(Notice {
        event: notify::OF_STAGES.to_owned(),
        title: format!("{}: {}", event.task, shorten(first, 100)),
        text: format!("{}: {text}", task.seed.project.name),
        link: super::memory::link(&task),
        task: Some(event.task.to_string()),
        project: Some(task.seed.project.name.clone()),
        request: None,
        page: None,
    }))
}
