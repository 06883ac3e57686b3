//! The outbox: turns events that people want to know about into messages, and sends them.

use std::time::{Duration, Instant};

use acquit_core::agent::shorten;
use acquit_core::change::Change;
use acquit_core::config::notify::Told;
use acquit_core::event::{Body, Event};
use acquit_core::human_request::Answer;
use acquit_core::ids::{Name, TaskId};
use acquit_core::night::key;
use acquit_core::store::{self, Delivery, Letter, Mark, Message, Store};
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;
use acquit_run::notify::{self, AnswerWay, Notice};

use super::{Busy, Daemon, Home, log};
use crate::answer_link::{self, AnswerLink};
use crate::app::App;
use crate::error::Error;
use crate::{history, suggest};

/// Name in the store of the position up to which events were read for notices.
const MARK: &str = "notify";
/// Number of events to read at once.
const PAGE: u32 = 500;
/// Maximum length of a notice.
const TEXT: usize = 2_000;
/// Number of newest messages among which to look for the one that an answer replaces.
const LOOKED_AT: u32 = 2_000;
/// How often to send traces.
const TRACED: Duration = Duration::from_secs(5);
/// When to try again to replace a message that is not sent yet.
const EARLY: Duration = Duration::from_secs(10);

impl Daemon<'_> {
    /// Creates messages for the events since the last call.
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
            // This project has no position yet: earlier events are not news.
            let newest = crate::index::newest_event(store, 0)?;
            return Ok(store.post(&[], Some((mark, newest)))?);
        };
        loop {
            let events = store.events(None, after, PAGE)?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.seq;
            let mut messages = Vec::new();
            for event in events.iter().filter(|_| told) {
                let key = key(event);
                if let Body::Notify { text, channels } = &event.body {
                    let Some(notice) = of_stage(store, &self.home, event, text)? else { continue };
                    messages.extend(notify::messages_to(
                        &self.home.config,
                        &project,
                        channels,
                        &key,
                        &notice,
                    ));
                } else if let Body::Change { change: Change::RequestAnswered { request, by, answer } } =
                    &event.body
                {
                    let by = by.to_string();
                    let said = (by.as_str(), answer);
                    messages.extend(self.update(store, &project, event.task, *request, said, now)?);
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
            // In one transaction, so that nothing is sent twice or omitted.
            store.post(&messages, Some((mark, after)))?;
            if events.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Returns the messages that replace a question that was answered. A question that was not sent is not replaced.
    fn update(
        &self,
        store: &mut dyn Store,
        project: &str,
        task: TaskId,
        request: u32,
        (by, answer): (&str, &Answer),
        now: Timestamp,
    ) -> Result<Vec<Message>, Error> {
        let replaced = request_key(task, request);
        let posted = store.letters(LOOKED_AT)?;
        let is_told = |message: &Message| {
            let original = format!("{replaced}/{}", message.channel);
            posted.iter().any(|letter| letter.message.project == project && letter.message.key == original)
        };
        let task = store.task(task)?;
        // A person's text may be a secret, and channels show it to others. The offered options are already known to
        // them.
        let of_request = |letter: &&Letter| letter.message.key.starts_with(&format!("{replaced}/"));
        let offered = |words: &str| {
            posted.iter().filter(of_request).any(|letter| letter.message.payload.to_string().contains(words))
        };
        let words = history::in_words(answer);
        let said = match answer {
            Answer::Approve => format!("{by} approved"),
            Answer::Reject { .. } => format!("{by} rejected"),
            _ if offered(&words) => format!("{by}: {words}"),
            _ => format!("{by} answered"),
        };
        let notice = Notice {
            event: notify::ANSWERED.to_owned(),
            title: format!("{} answered: {}", task.id(), shorten(&task.listed_title(), 100)),
            text: format!("{}: {}", task.seed.project.name, shorten(&said, TEXT)),
            link: self.dashboard_address().map(|dashboard| format!("{dashboard}/tasks/{}", task.id())),
            task: Some(task.id().to_string()),
            project: Some(task.seed.project.name.clone()),
            request: Some(request),
            answers: Vec::new(),
            replaces: Some(replaced.clone()),
            page: None,
        };
        let key = format!("{replaced}/answered");
        let mut all = notify::updates(&self.home.config, project, &key, &notice, now);
        all.retain(is_told);
        Ok(all)
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
        let has_letter = store.next_letter(&self.home.project())?.is_some_and(|due| due <= now);
        if !has_letter && !self.wants_traces() {
            return Ok(Busy::No);
        }
        self.sender = Some(self.beside(&["post"])?);
        Ok(Busy::Yes)
    }

    /// Returns whether it is time to send traces. This build may have none.
    fn wants_traces(&mut self) -> bool {
        let is_due = self.traced.is_none_or(|at| at.elapsed() >= TRACED);
        let wanted = cfg!(feature = "otel") && is_due && self.sends_traces();
        if wanted {
            self.traced = Some(Instant::now());
        }
        wanted
    }

    #[cfg(feature = "otel")]
    fn sends_traces(&self) -> bool {
        super::traces::is_wanted(self.app)
    }

    #[cfg(not(feature = "otel"))]
    #[allow(clippy::unused_self, reason = "builds with traces ask the daemon's environment")]
    fn sends_traces(&self) -> bool {
        false
    }
}

/// `acquit post`: sends every message that is due, in a separate process. If it is killed, the next one sends the
/// messages that it had taken.
pub fn send(app: &App) -> Result<(), Error> {
    let mut store = app.store()?;
    #[cfg(feature = "otel")]
    super::traces::export(app, store.as_mut())?;
    let home = Home::read(app)?.trusted()?;
    while let Some(letter) = store.take(&home.project(), notify::LEASE)? {
        // A message can wait for hours: for its server, or for the end of the night.
        let delivery = match standing(store.as_mut(), &letter)? {
            Standing::Wanted => {
                let whole = with_answers(app, store.as_mut(), &home, &letter)?;
                notify::deliver(&app.runtime, &home.config, &home.top, &whole)
            }
            Standing::Early => Delivery::Again {
                error: "the message that it replaces is not sent yet".to_owned(),
                after: EARLY,
            },
            Standing::Late => Delivery::Never { error: "nobody has to answer any more".to_owned() },
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

/// Returns the key of the messages about an event. Those about a request are found by its number.
fn key(event: &Event) -> String {
    match &event.body {
        Body::Change { change: Change::RequestOpened { request } } => request_key(event.task, request.number),
        _ => format!("event/{}", event.seq),
    }
}

fn request_key(task: TaskId, request: u32) -> String {
    format!("request/{task}/{request}")
}

/// Whether to send a message.
enum Standing {
    /// Send it.
    Wanted,
    /// It replaces a message that is not sent yet.
    Early,
    /// It asks for an answer that was given or is no longer needed, or replaces a message that was not sent.
    Late,
}

/// Returns the task and the number of the request that a message is about.
fn subject(letter: &Letter) -> Option<(TaskId, u32)> {
    let payload = &letter.message.payload;
    let task = payload.get("task")?.as_str()?.parse().ok()?;
    Some((task, u32::try_from(payload.get("request")?.as_u64()?).ok()?))
}

/// Returns whether to send a message. It can have waited for hours.
fn standing(store: &mut dyn Store, letter: &Letter) -> Result<Standing, Error> {
    let Message { project, channel, payload, .. } = &letter.message;
    if let Some(replaced) = payload.get("replaces").and_then(|key| key.as_str()) {
        let original = format!("{replaced}/{channel}");
        let posted = store.letters(LOOKED_AT)?;
        let found = posted.iter().find(|it| it.message.project == *project && it.message.key == original);
        return Ok(match found.map(|letter| letter.state) {
            Some(store::Post::Sent) => Standing::Wanted,
            Some(store::Post::Waiting) => Standing::Early,
            Some(store::Post::GivenUp) | None => Standing::Late,
        });
    }
    let Some((task, request)) = subject(letter) else { return Ok(Standing::Wanted) };
    match store.task(task) {
        Ok(task) if is_open(&task, request) => Ok(Standing::Wanted),
        Ok(_) | Err(store::Error::NoTask(_)) => Ok(Standing::Late),
        Err(error) => Err(error.into()),
    }
}

/// Returns a message with links that answer, if its channel may have them and it links to a dashboard.
fn with_answers(app: &App, store: &mut dyn Store, home: &Home, letter: &Letter) -> Result<Letter, Error> {
    let mut letter = letter.clone();
    let payload = &letter.message.payload;
    let dashboard = payload.get("link").and_then(|link| link.as_str()?.split_once("/inbox#request-"));
    let (Some(channel), Some((dashboard, _)), Some((id, request)), Some(secret)) = (
        notify::answered_by_link(&home.config, &letter.message),
        dashboard,
        subject(&letter),
        answer_link::key(&app.surroundings.home),
    ) else {
        return Ok(letter);
    };
    let (task, of, now) = (store.task(id)?, store.id()?, store.now()?);
    let ticket = AnswerLink::new(id, request, channel.clone(), now).ticket(&secret, &of);
    let link = |way: answer_link::Way| {
        let choice = way.choice.map(|number| format!("?choice={number}")).unwrap_or_default();
        AnswerWay { label: way.label, link: format!("{dashboard}/answer/{ticket}{choice}") }
    };
    let ways: Vec<AnswerWay> = answer_link::ways(&task).into_iter().map(link).collect();
    letter.message.payload["answers"] = serde_json::to_value(ways).unwrap_or_default();
    Ok(letter)
}

/// Returns the notice for an event, if it is worth one.
fn notice(
    store: &mut dyn Store,
    home: &Home,
    event: &Event,
    dashboard: Option<&str>,
) -> Result<Option<(Told, Notice)>, Error> {
    let Body::Change { change } = &event.body else { return Ok(None) };
    let (what, words, mut text) = match change {
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
    if what == Told::Done {
        text = crate::board::delivered(&task).join("\n");
    }
    let id = event.task;
    let answer = match what {
        Told::NeedsPerson => {
            let commands = suggest::in_words(&suggest::answer_commands(&task));
            format!("\n\nAnswer with {commands}, or look at `acquit inbox`.")
        }
        Told::Done | Told::Failed | Told::Report => String::new(),
    };
    let notice = Notice {
        event: what.word().to_owned(),
        title: format!("{id} {words}: {}", shorten(&task.listed_title(), 100)),
        text: told(&task.seed.project.name, &shorten(&text, TEXT)) + &answer,
        link: link(&task, request, dashboard),
        task: Some(id.to_string()),
        project: Some(task.seed.project.name.clone()),
        request,
        answers: Vec::new(),
        replaces: None,
        page: None,
    };
    Ok(Some((what, notice)))
}

/// Returns the text of a message: the project, and what there is to say.
fn told(project: &str, text: &str) -> String {
    if text.is_empty() { project.to_owned() } else { format!("{project}: {text}") }
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
        answers: Vec::new(),
        replaces: None,
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
        answers: Vec::new(),
        replaces: None,
        page: None,
    }))
}
