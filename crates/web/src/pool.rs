//! Threads that use the store. The store's calls block, so a few threads make them. Each has its own connection, which
//! it opens on first use and closes after a period without use.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use acquit_app::{App, Error};
use acquit_core::store::Store;
use tokio::sync::oneshot;

/// Number of concurrent calls to the store. Pages take milliseconds; only diffs take longer.
const THREADS: usize = 3;
/// How long an unused connection stays open.
const IDLE: Duration = Duration::from_secs(30);

/// Whether the connection can be used again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    Good,
    Broken,
}

/// An error that may mean that the connection to the store is broken.
pub trait Breaks: From<Error> {
    /// Returns whether the connection is broken.
    fn breaks(&self) -> bool;
}

impl Breaks for Error {
    fn breaks(&self) -> bool {
        matches!(self, Self::Store(acquit_core::store::Error::Database { .. }))
    }
}

type Job = Box<dyn FnOnce(&App, &mut dyn Store) -> Connection + Send>;
/// A job, and a callback for the case that the store cannot be opened.
type Asked = (Job, Box<dyn FnOnce(Error) + Send>);

/// Jobs that wait for a thread. Each thread waits separately, so that each notices when it is unused.
#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<Asked>>,
    added: Condvar,
}

/// A few threads with a store each. They live as long as the process.
#[derive(Clone)]
pub struct Pool(Arc<Queue>);

impl Pool {
    /// Starts the threads.
    pub fn start(app: &Arc<App>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        for number in 0..THREADS {
            let (app, queue) = (Arc::clone(app), Arc::clone(&queue));
            std::thread::Builder::new()
                .name(format!("store-{number}"))
                .stack_size(1024 * 1024)
                .spawn(move || work(&app, &queue))?;
        }
        Ok(Self(queue))
    }

    /// Runs a job with the store on one of the threads. `None` if the job panicked.
    pub async fn run<T: Send + 'static, E: Breaks + Send + 'static>(
        &self,
        job: impl FnOnce(&App, &mut dyn Store) -> Result<T, E> + Send + 'static,
    ) -> Option<Result<T, E>> {
        let (sender, receiver) = oneshot::channel();
        // Only one of the two callbacks is called, and takes the sender.
        let answer = Arc::new(Mutex::new(Some(sender)));
        let tell = move |done: Result<T, E>| {
            if let Some(sender) = answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // A browser that disconnected needs no answer.
                let _ = sender.send(done);
            }
        };
        let refuse = tell.clone();
        let job = move |app: &App, store: &mut dyn Store| {
            let done = job(app, store);
            let broken = done.as_ref().is_err_and(Breaks::breaks);
            tell(done);
            if broken { Connection::Broken } else { Connection::Good }
        };
        self.0.add((Box::new(job), Box::new(move |error| refuse(Err(error.into())))));
        receiver.await.ok()
    }
}

impl Queue {
    fn add(&self, asked: Asked) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).push_back(asked);
        self.added.notify_one();
    }

    /// Returns the next job; `None` if there was none for a while.
    fn next(&self) -> Option<Asked> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.added.wait_timeout_while(jobs, IDLE, |jobs| jobs.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

fn work(app: &App, queue: &Queue) {
    let mut open: Option<Box<dyn Store>> = None;
    loop {
        let Some((job, refuse)) = queue.next() else {
            open = None;
            continue;
        };
        let mut store = match open.take().map_or_else(|| app.store(), Ok) {
            Ok(store) => store,
            Err(error) => {
                refuse(error);
                continue;
            }
        };
        // A page that panics must not end the thread. Its connection is dropped, and the browser gets an error.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(app, store.as_mut())));
        if matches!(done, Ok(Connection::Good)) {
            open = Some(store);
        }
    }
}
