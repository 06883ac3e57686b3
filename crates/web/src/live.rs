//! Live updates for open pages, as server-sent events.
//!
//! One thread reads the store's events while there are viewers, and broadcasts them: the store is queried once,
//! regardless of the number of viewers. Each message has the event's number in the store as its id, so a browser that
//! was disconnected continues with `Last-Event-ID`. Output of an agent is not an event; pages only get a signal that a
//! task has new output.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use acquit_app::{App, Error};
use acquit_core::event::Event;
use acquit_core::ids::{LegId, TaskId};
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
/// Minimum interval of looks for agent output.
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
    /// The agent of a task printed something.
    Printed {
        /// Task id.
        task: TaskId,
    },
    /// Every page has changed.
    All,
}

/// Broadcasts changes to viewers.
pub struct Live {
    app: Arc<App>,
    sender: broadcast::Sender<News>,
    places: Arc<Semaphore>,
    /// Newest known event.
    newest: AtomicI64,
    /// Number of changes so far. Pages of different versions may differ.
    version: AtomicU64,
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
            version: AtomicU64::new(0),
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
        if !missed.is_empty() {
            // It fetches its page at once, maybe before the reader has seen these events.
            self.version.fetch_add(1, Ordering::Release);
        }
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
                Ok(News::Printed { task: of }) => {
                    let data = serde_json::json!({ "task": of }).to_string();
                    task.is_none_or(|task| task == of)
                        .then(|| sse::Event::default().event("printed").data(data))
                }
                Ok(News::All) | Err(_) => Some(sse::Event::default().event("again").data("{}")),
            }
        });
        let hello = sse::Event::default().retry(Duration::from_secs(2)).comment("connected");
        let all = tokio_stream::iter(std::iter::once(hello).chain(earlier)).chain(live).map(Ok);
        Sse::new(all).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
    }

    /// Notifies viewers that all pages have changed without an event.
    pub fn all_changed(&self) {
        self.tell(News::All);
    }

    /// Returns the number of changes so far.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn tell(&self, news: News) {
        self.version.fetch_add(1, Ordering::Release);
        // There may be no viewer.
        let _ = self.sender.send(news);
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
        let mut output = Output::default();
        let mut looked = Instant::now();
        while self.sender.receiver_count() > 0 {
            store.wait(BEAT)?;
            for event in store.events(None, after, PAGE)? {
                after = event.seq;
                self.newest.fetch_max(after, Ordering::Relaxed);
                self.tell(News::Event { seq: after, task: event.task, kind: event.body.kind() });
            }
            if looked.elapsed() >= PRINTED {
                looked = Instant::now();
                output.grown(store)?.into_iter().for_each(|task| self.tell(News::Printed { task }));
            }
        }
        Ok(())
    }
}

/// How much output of each running leg was seen.
#[derive(Default)]
struct Output(BTreeMap<LegId, u64>);

impl Output {
    /// Returns the tasks whose running legs have more output than at the last call; at first, than none.
    fn grown(&mut self, store: &mut dyn Store) -> Result<Vec<TaskId>, Error> {
        let known = std::mem::take(&mut self.0);
        let mut grew = Vec::new();
        for (leg, _) in store.running()? {
            let from = known.get(&leg.id).copied().unwrap_or(0);
            let mut end = from;
            while let Some(chunk) = store.transcript(leg.id, end, PAGE)?.last() {
                end = chunk.to;
            }
            if end > from {
                grew.push(leg.id.task);
            }
            self.0.insert(leg.id, end);
        }
        Ok(grew)
    }
}

fn message(seq: i64, task: TaskId, kind: &str) -> sse::Event {
    let data = serde_json::json!({ "task": task, "kind": kind });
    sse::Event::default().event("change").id(seq.to_string()).data(data.to_string())
}
