//! Watches a program in one loop, which sleeps until the program ends or the next deadline.
//!
//! The kernel reports the end at once. Output is polled: often while it flows, which batches small writes, and more
//! and more rarely while the program is silent. inotify would not help: it wakes up for every line of a burst, a user
//! has few instances, and closing one after a process was started takes 5 to 15 ms, several times as long as
//! everything else.

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

/// Maximum time between two calls of [`Watcher::tick`]: short enough that cancelling feels immediate.
pub const TICK: Duration = Duration::from_millis(250);

/// Pause before polling again after output. Doubles with every poll that finds nothing.
const SHORTEST_PAUSE: Duration = Duration::from_millis(4);

/// Maximum pause between two polls. Output after a silence appears without a noticeable delay, at the cost of ten
/// short wakeups per second.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Maximum length of a single sleep, so that no timeout is too large for the kernel.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// How far a program may exceed its output limit before it is killed without grace: one that keeps writing at disk
/// speed would fill the disk within its grace period.
const OVERRUN: u64 = 16 * 1024 * 1024;

/// Observes a running program.
pub trait Watcher {
    /// Receives output, with its offset in the file. Every byte comes once and in order, in chunks of at most
    /// [`CHUNK`](super::CHUNK) bytes. A chunk can end anywhere, also within a line or a UTF-8 sequence.
    fn output(&mut self, offset: u64, bytes: &[u8]);

    /// Called after output and at least every [`TICK`], to report progress and to decide whether to continue.
    fn tick(&mut self) -> Next;
}

/// A watcher's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Let the program run.
    Continue,
    /// Stop the program; its exit becomes [`Exit::Cancelled`]. This is final, even if the program reaches a limit
    /// later.
    Stop,
}

/// A running program. Dropping it without watching kills the whole process tree.
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

    /// Returns the helper's pid, which is the one that other tools show.
    pub fn pid(&self) -> i32 {
        self.tree.pid()
    }

    /// Returns how the process tree is contained.
    pub fn containment(&self) -> Containment {
        self.held.containment
    }

    /// Returns the walls of its policy that could not be built on this machine.
    pub fn missing(&self) -> Missing {
        self.held.missing
    }

    /// Watches the program until none of its processes is left. Stops it when it reaches a limit or the watcher asks
    /// to. No process is left after an error either.
    pub fn watch(self, watcher: &mut dyn Watcher) -> Result<Ended, Error> {
        let mut course = Course::new(self);
        while !course.look(watcher)? {
            course.wait()?;
        }
        course.end()
    }

    /// Watches several programs at once. Calls `over` with the index of each program that ends; it can stop the
    /// others. No process of any of them is left after an error.
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

    /// Returns the time until a limit is reached, if nothing happens before.
    fn limits_left(&self, last_output: Instant, now: Instant) -> Duration {
        let left = |since, limit: Duration| limit.saturating_sub(now.duration_since(since));
        let idle = self.limits.idle.map_or(Duration::MAX, |limit| left(last_output, limit));
        left(self.started, self.limits.time).min(idle)
    }
}

/// Progress of watching one program.
struct Course {
    child: Child,
    ladder: Ladder,
    /// Why the program is being stopped.
    reason: Option<Exit>,
    last_output: Instant,
    last_tick: Instant,
    pause: Duration,
    /// Time to sleep, unless the program ends.
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

    /// Stops the program at the next check.
    fn stop(&mut self) {
        self.reason.get_or_insert(Exit::Cancelled);
        self.sleep = Duration::ZERO;
    }

    /// Checks output, limits and the watcher. Returns true once the program has ended and all of its output was
    /// reported: output found after the end was seen is complete.
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

    /// Sleeps until the program ends or the next check is due.
    fn wait(&mut self) -> Result<(), Error> {
        if self.ended_at.is_none() {
            let mut fds = [PollFd::from_borrowed_fd(self.child.tree.pidfd(), PollFlags::IN)];
            if poll(&mut fds, self.sleep)? > 0 {
                self.ended_at = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// Like [`Course::wait`], for several programs.
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

    /// Reaps the process and returns the result.
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

/// Calls `poll`. Treats an interruption by a signal as a timeout.
pub(super) fn poll(fds: &mut [PollFd<'_>], limit: Duration) -> Result<usize, Error> {
    let timeout = Timespec::try_from(limit.min(LONGEST_SLEEP)).map_err(|_| Errno::INVAL)?;
    match rustix::event::poll(fds, Some(&timeout)) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}
