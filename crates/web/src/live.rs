//! Live updates for open pages, as server-sent events.
//!
//! One thread reads the store's events while there are viewers, and broadcasts them: the store is queried once,
//! regardless of the number of viewers. Each message has the event's number in the store as its id, so a browser that
//! was disconnected continues with `Last-Event-ID`. Output of an agent is not an event; pages only get a signal that
//! there is new output.

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

/// Maximum number of browsers that watch at the same time. Each holds a connection.
const MOST_VIEWERS: usize = 1_000;
/// Maximum number of messages that wait for a slow reader. A slower one gets an event to reload everything.
const WAITING: usize = 256;
/// Longest sleep of the reader. SQLite cannot wake it up: it looks at least every quarter of this, so an event is on open
/// pages within 50 ms.
const BEAT: Duration = Duration::from_millis(200);
/// Wait after an error of the store.
const AGAIN: Duration = Duration::from_secs(5);
/// Minimum interval of messages about agent output.
const PRINTED: Duration = Duration::from_millis(500);
/// Number of events to read at once, and to send individually to a browser that was disconnected.
const PAGE: u32 = 200;

/// A change.
#[derive(Clone, Debug)]
pub enum News {
    /// An event of the store.
    Event {
        /// Event number.
        seq: i64,
        /// Task id.
        task: TaskId,
        /// Kind of the event.
        kind: &'static str,
    },
    /// Something was written that is not an event.
    Printed,
}

/// Broadcasts changes to viewers.
pub struct Live {
    app: Arc<App>,
    sender: broadcast::Sender<News>,
    places: Arc<Semaphore>,
    /// Newest known event.
    newest: AtomicI64,
    /// Whether the reader runs.
    reads: Mutex<bool>,
}

impl Live {
    /// Creates the broadcaster, without viewers.
    pub fn new(app: &Arc<App>) -> Arc<Self> {
        Arc::new(Self {
            app: Arc::clone(app),
            sender: broadcast::channel(WAITING).0,
            places: Arc::new(Semaphore::new(MOST_VIEWERS)),
            newest: AtomicI64::new(0),
            reads: Mutex::new(false),
        })
    }

    /// Returns the number of the newest event.
    pub fn newest(&self, store: &mut dyn Store) -> Result<i64, Error> {
        let newest = acquit_app::index::newest_event(store, self.newest.load(Ordering::Relaxed))?;
        self.newest.fetch_max(newest, Ordering::Relaxed);
        Ok(newest)
    }

    /// Reserves a place for one more viewer, if there is one.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Returns the stream of one viewer: first the missed events, then new ones.
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
            // It was disconnected for too long: it reloads everything, and continues from here.
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

    /// Notifies viewers that pages have changed without an event.
    pub fn printed(&self) {
        // There may be no viewer.
        let _ = self.sender.send(News::Printed);
    }

    /// Subscribes to changes.
    pub fn listen(self: &Arc<Self>) -> broadcast::Receiver<News> {
        let news = self.sender.subscribe();
        self.read_while_watched();
        news
    }

    /// Returns events that a viewer has not seen.
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

    /// Reads events as long as there are viewers.
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
            // The store returned an error: a database restarts, or a disk is full for a while.
            std::thread::park_timeout(AGAIN);
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
                // There may be no viewer left to receive it.
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
