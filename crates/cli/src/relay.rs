//! Running a task from the foreground: a harness process is started, and what it writes to the store is shown.
//!
//! The harness is a process of its own that goes on when this one ends. This one only looks: it starts a harness when a leg is
//! ready and none runs, and it finds what died. So it may be killed at any time, and started again.

use std::io::IsTerminal;
use std::time::Duration;

use acquit_core::event::Level;
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg;
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use acquit_run::process::Detached;
use acquit_run::supervise;

use crate::desk::Desk;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::report::follow::{Follower, Now, Story};

/// How often the screen is renewed.
const BEAT: Duration = Duration::from_millis(100);
/// How many events or chunks are read at once.
const PAGE: u32 = 500;
/// A harness that ends so often in a row without any event of its own will not do better.
const STALLS: u32 = 3;

/// Whether harnesses are started, or only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Starts them.
    Runs,
    /// Looks only.
    Watches,
}

/// Follows a task until it ends or waits for a person.
pub fn follow(
    desk: &Desk,
    store: &mut dyn Store,
    id: TaskId,
    part: Part,
    level: Level,
    after: i64,
) -> Result<Task, Error> {
    let interrupt = Interrupt::listen()?;
    let story = match part {
        Part::Runs => Story::Beside,
        Part::Watches => Story::Asked,
    };
    let mut view =
        View { follower: Follower::new(desk.printer, level, story), seen: after, leg: None, read: 0 };
    let mut harness = None;
    let mut stalls = 0;
    let mut asked = 0;
    let mut choosing = false;
    let terminal = desk.printer.live && std::io::stdin().is_terminal();
    loop {
        let news = view.show(store, id)?;
        let task = store.task(id)?;
        if !matches!(task.state, State::Working { .. }) {
            view.show(store, id)?;
            return Ok(task);
        }
        if part == Part::Watches && desk.printer.reader_is_gone() {
            return Ok(task);
        }
        if interrupt.count() > asked {
            asked = interrupt.count();
            let cancelling = matches!(task.state, State::Working { cancel: Some(_), .. });
            if part == Part::Watches || cancelling {
                return Ok(task);
            }
            if terminal && !choosing {
                choosing = true;
                view.follower.say(QUESTION);
                continue;
            }
            cancel(desk, store, id, &mut view)?;
            continue;
        }
        if choosing && let Some(key) = typed() {
            choosing = false;
            match key {
                'd' | 'D' => return Ok(task),
                'c' | 'C' => cancel(desk, store, id, &mut view)?,
                _ => view.follower.say("still watching"),
            }
            continue;
        }
        if news {
            stalls = 0;
        }
        if part == Part::Runs && !running(&mut harness)? {
            supervise::bury(&desk.world, store)?;
            supervise::release(store)?;
            if is_due(store, id)? {
                if !acquit_run::pinned::is_trusted(&desk.world, store, id)? {
                    return Err(acquit_run::pinned::Untrusted { task: id }.into());
                }
                stalls += 1;
                if stalls > STALLS {
                    return Err(Error::Stalled { task: id, times: STALLS, log: log(desk, id) });
                }
                harness = Some(start(desk, id)?);
            }
        }
        view.follower.tick(&now(store, id)?);
        store.wait(BEAT)?;
    }
}

/// What Ctrl-C asks on a terminal.
const QUESTION: &str = "d + Enter  detach: the task continues by itself\n\
                        c + Enter  cancel the task; so does Ctrl-C once more\n\
                        Enter      keep watching";

fn cancel(desk: &Desk, store: &mut dyn Store, id: TaskId, view: &mut View) -> Result<(), Error> {
    view.follower.say("cancelling; Ctrl-C once more leaves it to end by itself");
    desk.cancel(store, id).map(|_| ())
}

/// The first letter of a line that was typed, if one was. A terminal that is gone has typed nothing.
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
    View { follower, seen: 0, leg: None, read: 0 }.show(store, id).map(|_| ())
}

/// Whether a harness that this process started still runs.
fn running(harness: &mut Option<Detached>) -> Result<bool, Error> {
    let over = match harness {
        None => return Ok(false),
        Some(harness) => harness.has_ended()?,
    };
    if over {
        *harness = None;
    }
    Ok(!over)
}

/// Whether the task has a leg that could be claimed now.
pub fn is_due(store: &mut dyn Store, id: TaskId) -> Result<bool, Error> {
    let now = store.now()?;
    Ok(store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Ready && leg.not_before <= now))
}

fn log(desk: &Desk, id: TaskId) -> std::path::PathBuf {
    desk.world.harness_log(id)
}

/// Starts a harness for a task, which goes on by itself.
pub fn start(desk: &Desk, id: TaskId) -> Result<Detached, Error> {
    let log = log(desk, id);
    let file = |source| Error::File { doing: "create the folder of", path: log.clone(), source };
    std::fs::create_dir_all(log.parent().unwrap_or(&log)).map_err(file)?;
    let args = ["leg".into(), "--task".into(), id.to_string().into()];
    Ok(desk.world.spawner.detach(&args, desk.harness_environment(), &log)?)
}

/// What has been shown so far.
struct View {
    follower: Follower,
    seen: i64,
    leg: Option<LegId>,
    read: u64,
}

impl View {
    /// Shows what is new. Says whether anything was.
    fn show(&mut self, store: &mut dyn Store, id: TaskId) -> Result<bool, Error> {
        let mut news = false;
        loop {
            let events = store.events(Some(id), self.seen, PAGE)?;
            for event in &events {
                // What a leg said belongs before the event that ends it.
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

/// What the task's newest leg does.
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
