//! Runs a task in the foreground: starts a harness, and shows what it writes to the store.
//!
//! The harness is a separate process that continues when this one ends. This one only watches: it starts a harness
//! when a leg is ready and none runs, and detects dead ones. So it can be killed and restarted at any time.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use acquit_core::event::Level;
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg;
use acquit_core::store::Store;
use acquit_core::task::{State, Task};

use crate::report::follow::{Follower, Now, Story};
use crate::report::{Printer, text};
use acquit_app::App;
use acquit_app::Error;
use acquit_app::drive::{Driver, Step};
use acquit_run::process::Interrupt;

/// Interval of screen updates.
const BEAT: Duration = Duration::from_millis(100);
/// How often to look for the reason why no worker takes a leg.
const ASK: Duration = Duration::from_secs(2);
/// Maximum number of events or chunks to read at once.
const PAGE: u32 = 500;

/// Whether to start harnesses or only watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Start harnesses.
    Runs,
    /// Start harnesses for a private task. It cannot be detached from, so an interrupt cancels it.
    Judges,
    /// The same, and show all that happens.
    Rehearses,
    /// Only watch.
    Watches,
}

/// Follows a task until it ends or needs input.
pub fn follow(
    app: &App,
    printer: Printer,
    store: &mut dyn Store,
    id: TaskId,
    part: Part,
    level: Level,
    after: i64,
) -> Result<Task, Error> {
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
    let story = match part {
        Part::Runs => Story::Beside,
        Part::Judges => Story::Progress,
        Part::Rehearses => Story::Rehearsal,
        Part::Watches => Story::Asked,
    };
    let private = matches!(part, Part::Judges | Part::Rehearses);
    let mut view =
        View { follower: Follower::new(printer, level, story), seen: after, leg: None, read: 0, waits: None };
    let mut driver = Driver::default();
    let mut asked = 0;
    let mut choosing = false;
    let terminal = printer.live && std::io::stdin().is_terminal();
    loop {
        let news = view.show(store, id)?;
        let task = store.task(id)?;
        if !matches!(task.state, State::Working { .. }) {
            view.show(store, id)?;
            if private {
                driver.finish(store)?;
            }
            return Ok(task);
        }
        if part == Part::Watches && printer.reader_is_gone() {
            return Ok(task);
        }
        if interrupt.count() > asked {
            asked = interrupt.count();
            let cancelling = matches!(task.state, State::Working { cancel: Some(_), .. });
            if part == Part::Watches || cancelling {
                return Ok(task);
            }
            if terminal && !choosing && !private {
                choosing = true;
                view.follower.say(QUESTION);
                continue;
            }
            cancel(app, store, id, &mut view)?;
            continue;
        }
        if choosing && let Some(key) = typed() {
            choosing = false;
            match key {
                'd' | 'D' => return Ok(task),
                'c' | 'C' => cancel(app, store, id, &mut view)?,
                _ => view.follower.say("still watching"),
            }
            continue;
        }
        if news {
            driver.moved();
        }
        if part != Part::Watches {
            let step = driver.step(app, store, id)?;
            view.waits_for_worker(store, id, step)?;
        }
        // While the user types, the input line is after the status line, and both would stay on the screen.
        if !choosing {
            view.follower.tick(&now(store, id)?);
        }
        store.wait(BEAT)?;
    }
}

/// The prompt after Ctrl-C on a terminal.
const QUESTION: &str = "d + Enter  detach: the task continues by itself\n\
                        c + Enter  cancel the task; so does Ctrl-C once more\n\
                        Enter      keep watching";

fn cancel(app: &App, store: &mut dyn Store, id: TaskId, view: &mut View) -> Result<(), Error> {
    view.follower.say("cancelling; Ctrl-C once more leaves it to end by itself");
    app.cancel(store, id).map(|_| ())
}

/// Returns the first character of a typed line, if any. `None` if the terminal is gone.
fn typed() -> Option<char> {
    let stdin = std::io::stdin();
    let mut fds = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if rustix::event::poll(&mut fds, Some(&now)).ok()? == 0 {
        return None;
    }
    let mut line = String::new();
    match stdin.read_line(&mut line) {
        Ok(1..) => Some(line.trim().chars().next().unwrap_or('\n')),
        Ok(0) | Err(_) => None,
    }
}

/// Shows a task's whole history.
pub fn show_all(store: &mut dyn Store, id: TaskId, follower: Follower) -> Result<(), Error> {
    View { follower, seen: 0, leg: None, read: 0, waits: None }.show(store, id).map(|_| ())
}

/// The output so far.
struct View {
    follower: Follower,
    seen: i64,
    leg: Option<LegId>,
    read: u64,
    /// When the reason for waiting for a worker was last looked for, and what it was.
    waits: Option<(Instant, String)>,
}

impl View {
    /// Shows new output. Returns whether there was any.
    fn show(&mut self, store: &mut dyn Store, id: TaskId) -> Result<bool, Error> {
        let mut news = false;
        loop {
            let events = store.events(Some(id), self.seen, PAGE)?;
            for event in &events {
                // Show a leg's transcript before the event that ends it.
                let leg = event.leg.map(|number| LegId { task: id, number });
                if leg.is_some() && leg != self.leg {
                    self.transcript(store)?;
                    (self.leg, self.read) = (leg, 0);
                }
                if matches!(event.body.kind(), "agent_ended" | "leg_ended") {
                    self.transcript(store)?;
                }
                self.seen = event.seq;
                self.follower.event(event);
            }
            news |= !events.is_empty();
            if events.len() < PAGE as usize {
                break;
            }
        }
        self.transcript(store)?;
        Ok(news)
    }

    /// Says why no worker takes the leg, whenever the reason changes.
    fn waits_for_worker(&mut self, store: &mut dyn Store, id: TaskId, step: Step) -> Result<(), Error> {
        if step != Step::ForWorkers {
            self.waits = None;
            return Ok(());
        }
        if self.waits.as_ref().is_some_and(|(at, _)| at.elapsed() < ASK) {
            return Ok(());
        }
        let why = acquit_app::workers::why(store, id)?;
        if self.waits.as_ref().is_none_or(|(_, said)| *said != why) {
            self.follower.say(&text::visible(&why));
        }
        self.waits = Some((Instant::now(), why));
        Ok(())
    }

    fn transcript(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let Some(leg) = self.leg else { return Ok(()) };
        loop {
            let chunks = store.transcript(leg, self.read, PAGE)?;
            for chunk in &chunks {
                chunk.items.iter().for_each(|item| self.follower.item(item));
                self.read = chunk.to;
            }
            if chunks.len() < PAGE as usize {
                return Ok(());
            }
        }
    }
}

/// Returns what the task's newest leg is doing.
fn now(store: &mut dyn Store, id: TaskId) -> Result<Now, Error> {
    let Some(leg) = store.legs(id)?.pop() else { return Ok(Now::Between) };
    Ok(match leg.state {
        leg::State::Running => Now::Runs(leg.usage),
        leg::State::Ready => Now::Waits(leg.not_before.since(store.now()?)),
        leg::State::Passed
        | leg::State::Rejected
        | leg::State::Failed
        | leg::State::TimedOut
        | leg::State::Cancelled
        | leg::State::Lost
        | leg::State::Held => Now::Between,
    })
}
