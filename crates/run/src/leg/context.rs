//! The harness's access to the store: buffers events, writes them in groups and renews the lease.

use std::time::{Duration, Instant};

use acquit_core::agent::{Chunk, Session, Usage};
use acquit_core::event::{Body, Level, Step};
use acquit_core::failure::kind;
use acquit_core::json::Json;
use acquit_core::leg::Hold;
use acquit_core::store::{self, Note, Pulse, Store};

use super::LegAbort;
use super::watchdog::Watchdog;
use crate::fault::{self, Act};
use crate::pause::pause;
use crate::runtime::Runtime;
use crate::secrets::Redactor;

/// Renewals per lease: enough that a short outage of the store loses no leg.
const HEARTBEATS: u32 = 10;

/// Poll interval for a cancellation. A person who cancels waits this long.
const LOOK: Duration = Duration::from_secs(1);

/// Part of the lease that is left when an agent is ended because its harness cannot reach the store: 30 seconds, enough
/// to end its whole process tree before another machine takes the leg.
const MARGIN: u32 = 10;

/// Delay before repeating a call that an unavailable store did not answer.
const AGAIN: Duration = Duration::from_millis(500);

/// State of a running leg: its claim, events that are not yet written, the time of its current step.
pub(crate) struct LegContext<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) store: &'a mut dyn Store,
    pub(crate) hold: Hold,
    pub(crate) notes: Vec<Note>,
    /// Usage of the leg so far.
    pub(crate) usage: Usage,
    /// Conversation that its agent could continue.
    pub(crate) session: Option<Box<Session>>,
    /// Artifacts that the leg leaves however it ends: effects outside that it cannot undo.
    pub(crate) left: Vec<acquit_core::artifact::Artifact>,
    /// Reports of the gates that the leg ran.
    pub(crate) reports: Vec<acquit_core::artifact::Artifact>,
    /// Setups for changed lock files that are already recorded.
    pub(crate) setups: Vec<acquit_core::event::SetupAgain>,
    /// Redacts the project's secrets from everything that leaves the leg.
    pub(crate) redactor: Redactor,
    /// The current step. What ends the leg early is attributed to it.
    pub(crate) under_way: Step,
    step_began: Instant,
    /// Duration of its lease.
    pub(crate) lease: Duration,
    /// Time of the last request for the lease.
    beat: Duration,
    looked: Instant,
    watchdog: Watchdog,
}

impl<'a> LegContext<'a> {
    pub(crate) fn new(runtime: &'a Runtime, store: &'a mut dyn Store, hold: Hold, began: Instant) -> Self {
        let lease = super::lease(runtime);
        Self {
            runtime,
            store,
            hold,
            notes: Vec::new(),
            usage: Usage::default(),
            session: None,
            left: Vec::new(),
            reports: Vec::new(),
            setups: Vec::new(),
            redactor: Redactor::default(),
            under_way: Step::Claim,
            step_began: began,
            lease,
            beat: awake().saturating_sub(began.elapsed()),
            looked: Instant::now(),
            watchdog: Watchdog::start(lease, awake, end_process),
        }
    }

    /// Records the end of a step with its duration.
    pub(crate) fn step(&mut self, step: Step) {
        self.time(step);
        fault::after(step, &self.runtime.environment);
    }

    /// Records a step with its duration so far.
    pub(crate) fn time(&mut self, step: Step) {
        let took = super::span(self.step_began.elapsed());
        self.step_began = Instant::now();
        self.under_way = step.next().unwrap_or(step);
        self.note(Body::Step { step, took });
    }

    /// Records an event with secrets redacted. Every event of a leg goes through here.
    pub(crate) fn note(&mut self, body: Body) {
        let body = self.redactor.stored(body).unwrap_or_else(|| {
            Body::notice(Level::Warning, "something happened that cannot be told without a secret")
        });
        self.notes.push(Note { at: (self.runtime.now)(), body });
    }

    /// Returns a redacted copy, for building texts from it.
    pub(crate) fn clean<T: Clone + Json>(&self, thing: &T) -> Result<T, LegAbort> {
        let words = "tell of the work without a secret: one of them is a word by which it is stored";
        self.redactor
            .stored(thing.clone())
            .ok_or_else(|| LegAbort::failed(kind::DELIVERY, format!("failed to {words}")))
    }

    pub(crate) fn notice(&mut self, level: Level, text: String) {
        self.note(Body::notice(level, text));
    }

    /// Writes the recorded events, so that others see them while the leg runs.
    pub(crate) fn flush(&mut self) -> Result<(), store::Error> {
        if !self.notes.is_empty() {
            fault::outage("flush", &self.runtime.environment)?;
            self.watchdog.call(|| self.store.note(self.hold, &self.notes))?;
            self.notes.clear();
        }
        Ok(())
    }

    /// Does the same, but waits for a store that is unavailable for a moment.
    pub(crate) fn flush_patiently(&mut self) -> Result<(), store::Error> {
        while let Err(error) = self.flush() {
            self.wait_for_store(error)?;
        }
        Ok(())
    }

    /// Writes a chunk of the transcript and the recorded events in one commit.
    pub(crate) fn transcribe(&mut self, chunk: &Chunk) -> Result<(), store::Error> {
        fault::outage("flush", &self.runtime.environment)?;
        self.watchdog.call(|| self.store.transcribe(self.hold, chunk, &self.usage, &self.notes))?;
        self.notes.clear();
        Ok(())
    }

    /// Renews the lease and checks for a cancellation, each when it is due.
    pub(crate) fn pulse(&mut self) -> Result<Pulse, store::Error> {
        if self.looked.elapsed() < LOOK {
            return Ok(Pulse::Beating);
        }
        self.looked = Instant::now();
        if self.since_beat() < self.lease / HEARTBEATS {
            return self.watchdog.call(|| self.store.pulse(self.hold));
        }
        // The lease starts at some moment after this one.
        let asked = awake();
        let (hold, lease) = (self.hold, self.lease);
        let renew = || self.watchdog.call(|| self.store.heartbeat(hold, lease));
        let pulse = fault::held(&self.runtime.environment, Act::Renew, hold, renew)?;
        self.beat = asked;
        self.watchdog.renewed(asked);
        Ok(pulse)
    }

    /// Returns the time since the last renewal of the lease.
    fn since_beat(&self) -> Duration {
        awake().saturating_sub(self.beat)
    }

    /// Returns whether an error of the store may be temporary while the leg is still ours.
    pub(crate) fn is_passing(&self, error: &store::Error) -> bool {
        // The disk of a server may get room again, and other machines write to it, too. That of this machine is checked
        // before the next leg.
        let may_pass = matches!(error, store::Error::Database { .. })
            || (self.runtime.shared && matches!(error, store::Error::Full { .. }));
        may_pass && self.since_beat() + self.lease / MARGIN < self.lease
    }

    /// Waits if the failed call should be repeated: the server may be unavailable for a moment, for example while
    /// another one takes over, and the leg's work must not be lost because of that. Otherwise returns the error.
    pub(crate) fn wait_for_store(&self, error: store::Error) -> Result<(), store::Error> {
        if !self.runtime.shared || !self.is_passing(&error) {
            return Err(error);
        }
        pause(AGAIN);
        Ok(())
    }
}

/// Ends this process and with it the programs of its leg.
fn end_process() {
    // Only the harness's log can still be written.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"error: the store does not answer, and the lease is almost over: the leg is left to another harness\n",
    );
    std::process::exit(1);
}

/// Returns the time since boot, including suspend: leases expire during suspend too.
fn awake() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}
