//! Watching a program: one loop that sleeps until the end, or until a moment that matters.
//!
//! The end is told by the kernel at once. Output is looked for: often while it flows, which gathers what was written
//! together, and ever more rarely in silence. A notice of the kernel for every write (inotify) would be no gain: it wakes
//! for every line of a burst, a user has few of them, and giving one back after a process was started takes 5 to 15 ms,
//! several times as long as all the rest.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::contain;
use super::error::Error;
use super::exit::{Containment, Ended, Exit};
use super::ladder::Ladder;
use super::output::{Output, Progress};
use super::spawn::Held;
use super::spec::{Limits, Spec};
use super::tree::Tree;
use super::walls::Missing;

/// The longest time between two calls of [`Watcher::tick`]: what a person who cancels does not notice as waiting.
pub const TICK: Duration = Duration::from_millis(250);

/// How long after output more is looked for; doubled with every look in vain.
const SHORTEST_PAUSE: Duration = Duration::from_millis(4);

/// The longest time between two looks: what is written after a silence is seen before a person would miss it, for ten
/// short awakenings in a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest single sleep, so that no limit, however large, is beyond what the kernel takes.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// How far beyond its output limit a program may write while it is asked to stop. One that writes on at the speed of
/// the disk would fill it within its grace.
const OVERRUN: u64 = 16 * 1024 * 1024;

/// Whoever wants to know what a program does.
pub trait Watcher {
    /// Output, at this offset of its file. Every byte comes once and in order, in pieces of at most
    /// [`CHUNK`](super::CHUNK) bytes that end anywhere, also in the middle of a line or a letter.
    fn output(&mut self, offset: u64, bytes: &[u8]);

    /// Called after output and at least every [`TICK`]: the moment to show life and to look whether to go on.
    fn tick(&mut self) -> Next;
}

/// What a watcher wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The program goes on.
    Continue,
    /// It is stopped, and its end is [`Exit::Cancelled`]. Once said this cannot be taken back; a limit that is reached
    /// later changes nothing.
    Stop,
}

/// A running program. Dropped without being watched, it is killed with everything below it.
#[derive(Debug)]
pub struct Child {
    tree: Tree,
    output: Output,
    held: Held,
    limits: Limits,
    policy: Option<PathBuf>,
    started: Instant,
}

impl Child {
    pub(super) fn new(tree: Tree, output: Output, held: Held, spec: &Spec, started: Instant) -> Self {
        Self { tree, output, held, limits: spec.limits, policy: spec.policy.clone(), started }
    }

    /// The helper's number, which is the one that other tools show.
    pub fn pid(&self) -> i32 {
        self.tree.pid()
    }

    /// How the program's processes are held together.
    pub fn containment(&self) -> Containment {
        self.held.containment
    }

    /// The walls of its policy that this machine could not build.
    pub fn missing(&self) -> Missing {
        self.held.missing
    }

    /// Watches until nothing is left of the program, and stops it when its limits or the watcher say so. After an error
    /// nothing is left of it either.
    pub fn watch(self, watcher: &mut dyn Watcher) -> Result<Ended, Error> {
        let mut course = Course::new(self);
        while !course.look(watcher)? {
            course.wait()?;
        }
        course.end()
    }

    /// Watches several at once, in one sleep. `over` hears of each end, by its place in the list, and may have the others
    /// stopped. After an error nothing is left of any of them.
    pub fn watch_all(
        children: Vec<Self>,
        watcher: &mut dyn Watcher,
        over: &mut dyn FnMut(usize, &Ended) -> Next,
    ) -> Result<Vec<Ended>, Error> {
        let mut ends: Vec<Option<Ended>> = children.iter().map(|_| None).collect();
        let mut running: Vec<(usize, Course)> = children.into_iter().map(Course::new).enumerate().collect();
        while !running.is_empty() {
            let mut going = Vec::new();
            let mut stop = Next::Continue;
            for (place, mut course) in running {
                if !course.look(watcher)? {
                    going.push((place, course));
                    continue;
                }
                let ended = course.end()?;
                if over(place, &ended) == Next::Stop {
                    stop = Next::Stop;
                }
                ends[place] = Some(ended);
            }
            if stop == Next::Stop {
                going.iter_mut().for_each(|(_, course)| course.stop());
            }
            running = going;
            Course::wait_for_any(&mut running)?;
        }
        Ok(ends.into_iter().flatten().collect())
    }

    fn reason_to_stop(&self, wish: Next, last_output: Instant, now: Instant) -> Option<Exit> {
        if wish == Next::Stop {
            return Some(Exit::Cancelled);
        }
        let Limits { time, idle, .. } = self.limits;
        if now.duration_since(self.started) >= time {
            return Some(Exit::TimedOut { limit: time });
        }
        let limit = idle.filter(|limit| now.duration_since(last_output) >= *limit)?;
        Some(Exit::Idle { limit })
    }

    /// The time until one of the limits is reached, if nothing happens.
    fn limits_left(&self, last_output: Instant, now: Instant) -> Duration {
        let left = |since, limit: Duration| limit.saturating_sub(now.duration_since(since));
        let idle = self.limits.idle.map_or(Duration::MAX, |limit| left(last_output, limit));
        left(self.started, self.limits.time).min(idle)
    }
}

/// How far watching a program has come.
struct Course {
    child: Child,
    ladder: Ladder,
    /// Why it is being stopped.
    reason: Option<Exit>,
    last_output: Instant,
    last_tick: Instant,
    pause: Duration,
    /// How long nothing has to be looked at, unless it ends.
    sleep: Duration,
    ended_at: Option<Instant>,
}

impl Course {
    fn new(child: Child) -> Self {
        Self {
            ladder: Ladder::new(child.limits.grace),
            reason: None,
            last_output: child.started,
            last_tick: Instant::now(),
            pause: SHORTEST_PAUSE,
            sleep: Duration::ZERO,
            ended_at: None,
            child,
        }
    }

    /// Stops it at the next look.
    fn stop(&mut self) {
        self.reason.get_or_insert(Exit::Cancelled);
        self.sleep = Duration::ZERO;
    }

    /// Looks at output, limits and the watcher's wish. True if it has ended and all of its output was seen: what is found
    /// after the end was seen is all that there will ever be.
    fn look(&mut self, watcher: &mut dyn Watcher) -> Result<bool, Error> {
        let Self { child, .. } = self;
        let progress = child.output.report(watcher)?;
        let sizes = child.output.measure()?;
        let now = Instant::now();
        let mut wish = Next::Continue;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        if progress != Progress::Nothing || sizes.errors_grew {
            self.last_output = now;
            self.pause = SHORTEST_PAUSE;
        }
        if progress != Progress::Nothing || now.duration_since(self.last_tick) >= TICK {
            self.last_tick = now;
            wish = watcher.tick();
        }
        if sizes.excess > 0 && self.reason.is_none() {
            self.reason = Some(Exit::OutputLimit { limit: child.limits.output });
        }
        if self.ended_at.is_some() {
            self.sleep = Duration::ZERO;
            return Ok(match progress {
                Progress::More => false,
                Progress::Read | Progress::Nothing => true,
            });
        }
        if self.reason.is_none() {
            self.reason = child.reason_to_stop(wish, self.last_output, now);
        }
        if self.reason.is_some() {
            self.ladder.ask(&child.tree, now);
            if sizes.excess > OVERRUN {
                self.ladder.force(&child.tree, now);
            }
            self.ladder.climb(&child.tree, now)?;
        }
        let limits = match self.reason {
            None => child.limits_left(self.last_output, now),
            Some(_) => self.ladder.left(now),
        };
        self.sleep = match progress {
            Progress::More => Duration::ZERO,
            Progress::Read | Progress::Nothing => {
                limits.min(self.pause).min(TICK.saturating_sub(now.duration_since(self.last_tick)))
            }
        };
        Ok(false)
    }

    /// Sleeps until the end, or until there is something to look at.
    fn wait(&mut self) -> Result<(), Error> {
        if self.ended_at.is_none() {
            let mut fds = [PollFd::from_borrowed_fd(self.child.tree.pidfd(), PollFlags::IN)];
            if poll(&mut fds, self.sleep)? > 0 {
                self.ended_at = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// The same for several.
    fn wait_for_any(running: &mut [(usize, Self)]) -> Result<(), Error> {
        let sleep = running.iter().map(|(_, course)| course.sleep).min().unwrap_or_default();
        let mut fds: Vec<PollFd<'_>> = running
            .iter()
            .map(|(_, course)| PollFd::from_borrowed_fd(course.child.tree.pidfd(), PollFlags::IN))
            .collect();
        if fds.is_empty() || poll(&mut fds, sleep)? == 0 {
            return Ok(());
        }
        let ended: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for ((_, course), ended) in running.iter_mut().zip(ended) {
            if ended {
                course.ended_at.get_or_insert_with(Instant::now);
            }
        }
        Ok(())
    }

    /// What became of it.
    fn end(self) -> Result<Ended, Error> {
        let ended_at = self.ended_at.unwrap_or_else(Instant::now);
        let Child { tree, output, held: Held { containment, .. }, policy, started, .. } = self.child;
        let reaped = tree.reap()?;
        let excess = || policy.as_deref().and_then(contain::excess).map(Exit::Excess);
        Ok(Ended {
            left: policy.as_deref().map_or(0, contain::left),
            exit: self.reason.or_else(excess).unwrap_or(reaped.exit),
            output_bytes: output.reported(),
            duration: ended_at.duration_since(started),
            user: reaped.user,
            system: reaped.system,
            containment,
        })
    }
}

/// `poll`, for which a signal is as good as nothing having happened.
pub(super) fn poll(fds: &mut [PollFd<'_>], limit: Duration) -> Result<usize, Error> {
    let timeout = Timespec::try_from(limit.min(LONGEST_SLEEP)).map_err(|_| Errno::INVAL)?;
    match rustix::event::poll(fds, Some(&timeout)) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}
