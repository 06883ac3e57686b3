//! News for open pages, as server-sent events.
//!
//! One thread reads the store's events while anybody watches, and everybody gets the same ones: the store is asked once however many
//! look on. Each message carries the event's number in the store as its id, so a browser that was away continues with
//! `Last-Event-ID`. What an agent prints is no event; of that pages only hear that there is something new.

use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use acquit_app::{App, Error};
use acquit_core::event::Event;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use axum::response::sse::{self, KeepAlive, Sse};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt};

/// How many browsers may watch at the same time: each holds a connection.
const MOST_VIEWERS: usize = 1_000;
/// How many news wait for a slow reader. One that is slower is told to look again at everything.
const WAITING: usize = 256;
/// The longest sleep of the reader.
const BEAT: Duration = Duration::from_secs(1);
/// So often at most pages hear that agents print something.
const PRINTED: Duration = Duration::from_millis(500);
/// How many events are read at once, and how many a browser that was away is told of one by one.
const PAGE: u32 = 200;

/// Something that changed.
#[derive(Clone, Debug)]
pub enum News {
    /// An event of the store.
    Event {
        /// Its number.
        seq: i64,
        /// Its task.
        task: TaskId,
        /// Its kind.
        kind: &'static str,
    },
    /// Something was written that is no event.
    Printed,
}

/// Tells news to whoever watches.
pub struct Live {
    app: Arc<App>,
    sender: broadcast::Sender<News>,
    places: Arc<Semaphore>,
    /// The newest event that is known.
    newest: AtomicI64,
    /// Whether the reader runs.
    reads: Mutex<bool>,
}

impl Live {
    /// Nobody watches yet.
    pub fn new(app: &Arc<App>) -> Arc<Self> {
        Arc::new(Self {
            app: Arc::clone(app),
            sender: broadcast::channel(WAITING).0,
            places: Arc::new(Semaphore::new(MOST_VIEWERS)),
            newest: AtomicI64::new(0),
            reads: Mutex::new(false),
        })
    }

    /// The number of the newest event.
    pub fn newest(&self, store: &mut dyn Store) -> Result<i64, Error> {
        let newest = acquit_app::index::newest_event(store, self.newest.load(Ordering::Relaxed))?;
        self.newest.fetch_max(newest, Ordering::Relaxed);
        Ok(newest)
    }

    /// A place for one more viewer, if there is one.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// The stream of one viewer: first what it missed, then what happens.
    pub fn stream(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        task: Option<TaskId>,
        missed: Vec<Event>,
        after: i64,
    ) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>> + use<>> {
        let news = BroadcastStream::new(self.sender.subscribe());
        self.read_while_watched();
        let mut told = missed.last().map_or(after, |event| event.seq);
        let earlier: Vec<_> = if missed.len() < PAGE as usize {
            missed.iter().map(|event| message(event.seq, event.task, event.body.kind())).collect()
        } else {
            // It was away for long: it looks at everything again, and continues from here.
            vec![sse::Event::default().event("again").id(told.to_string()).data("{}")]
        };
        let live = news.filter_map(move |news| {
            let _held = &place;
            match news {
                Ok(News::Event { seq, task: of, kind }) => {
                    let wanted = seq > told && task.is_none_or(|task| task == of);
                    told = told.max(seq);
                    wanted.then(|| message(seq, of, kind))
                }
                Ok(News::Printed) => Some(sse::Event::default().event("printed").data("{}")),
                Err(_) => Some(sse::Event::default().event("again").data("{}")),
            }
        });
        let hello = sse::Event::default().retry(Duration::from_secs(2)).comment("connected");
        let all = tokio_stream::iter(std::iter::once(hello).chain(earlier)).chain(live).map(Ok);
        Sse::new(all).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
    }

    /// Hears that something changed.
    pub fn listen(self: &Arc<Self>) -> broadcast::Receiver<News> {
        let news = self.sender.subscribe();
        self.read_while_watched();
        news
    }

    /// Events that a viewer has not seen.
    pub fn missed(store: &mut dyn Store, task: Option<TaskId>, after: i64) -> Result<Vec<Event>, Error> {
        Ok(store.events(task, after, PAGE)?)
    }

    /// Starts the reader, if it does not run.
    fn read_while_watched(self: &Arc<Self>) {
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        if *reads {
            return;
        }
        let live = Arc::clone(self);
        let thread = std::thread::Builder::new().name("live".to_owned()).stack_size(1024 * 1024);
        *reads = thread.spawn(move || live.read()).is_ok();
    }

    /// Reads events for as long as anybody watches.
    fn read(&self) {
        loop {
            if let Err(error) = self.read_store() {
                self.app.warn(format!("the dashboard is not live: {}", acquit_run::harness::chain(&error)));
            }
            let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
            if self.sender.receiver_count() == 0 {
                *reads = false;
                return;
            }
            drop(reads);
            // The store refused: a database restarts, a disk is full for a while.
            std::thread::park_timeout(5 * BEAT);
        }
    }

    fn read_store(&self) -> Result<(), Error> {
        let mut store = self.app.store()?;
        let store = store.as_mut();
        let mut after = self.newest(store)?;
        let mut printed = Instant::now();
        while self.sender.receiver_count() > 0 {
            let begun = Instant::now();
            store.wait(BEAT)?;
            let events = store.events(None, after, PAGE)?;
            let nothing = events.is_empty();
            for event in events {
                after = event.seq;
                self.newest.fetch_max(after, Ordering::Relaxed);
                // Nobody may be left to hear it.
                let _ =
                    self.sender.send(News::Event { seq: after, task: event.task, kind: event.body.kind() });
            }
            let written = nothing && begun.elapsed() < BEAT;
            if written && printed.elapsed() >= PRINTED {
                printed = Instant::now();
                let _ = self.sender.send(News::Printed);
            }
        }
        Ok(())
    }
}

fn message(seq: i64, task: TaskId, kind: &str) -> sse::Event {
    let data = serde_json::json!({ "task": task, "kind": kind });
    sse::Event::default().event("change").id(seq.to_string()).data(data.to_string())
}
