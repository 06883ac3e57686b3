//! The harness's side of the store: what happened is noted here and written in groups, and the lease is kept alive.

use std::time::{Duration, Instant};

use acquit_core::agent::{Chunk, Session, Usage};
use acquit_core::event::{Body, Level, Step};
use acquit_core::failure::kind;
use acquit_core::leg::Hold;
use acquit_core::store::{self, Note, Pulse, Store};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::LegAbort;
use crate::fault;
use crate::runtime::Runtime;
use crate::secrets::Redactor;

/// How often the lease is renewed: a tenth of it, so that a store which is away for a while costs no leg.
const HEARTBEAT: Duration = Duration::from_secs(super::LEASE.as_secs() / 10);

/// How long a cancellation takes to be seen: a person who cancels waits this long.
const LOOK: Duration = Duration::from_secs(1);

/// A leg's desk: its claim, its notes that are not yet written, the time of its current step.
pub(crate) struct LegContext<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) store: &'a mut dyn Store,
    pub(crate) hold: Hold,
    pub(crate) notes: Vec<Note>,
    /// What the leg used so far.
    pub(crate) usage: Usage,
    /// The conversation that its agent could go on with.
    pub(crate) session: Option<Box<Session>>,
    /// What the leg leaves however it ends: what it did elsewhere, and cannot take back.
    pub(crate) left: Vec<acquit_core::artifact::Artifact>,
    /// The reports of gates that the leg ran.
    pub(crate) reports: Vec<acquit_core::artifact::Artifact>,
    /// The setups for changed lock files that were noted.
    pub(crate) setups: Vec<acquit_core::event::SetupAgain>,
    /// Takes the project's secrets out of whatever leaves the leg.
    pub(crate) redactor: Redactor,
    /// Whether a command of a gate was cut short, which says nothing about the next time.
    pub(crate) cut_short: bool,
    /// The step that is under way: whatever ends the leg early is counted there.
    pub(crate) under_way: Step,
    step_began: Instant,
    /// When the lease was last asked for.
    beat: Duration,
    looked: Instant,
}

impl<'a> LegContext<'a> {
    pub(crate) fn new(runtime: &'a Runtime, store: &'a mut dyn Store, hold: Hold, began: Instant) -> Self {
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
            cut_short: false,
            under_way: Step::Claim,
            step_began: began,
            beat: awake().saturating_sub(began.elapsed()),
            looked: Instant::now(),
        }
    }

    /// A step is over: noted with its time.
    pub(crate) fn step(&mut self, step: Step) {
        self.time(step);
        fault::after(step, &self.runtime.environment);
    }

    /// Notes a step with its time so far.
    pub(crate) fn time(&mut self, step: Step) {
        let took = super::span(self.step_began.elapsed());
        self.step_began = Instant::now();
        self.under_way = step.next().unwrap_or(step);
        self.note(Body::Step { step, took });
    }

    /// Notes what happened, without secrets: everything that a leg tells goes through here.
    pub(crate) fn note(&mut self, body: Body) {
        let body = self.redactor.stored(body).unwrap_or_else(|| Body::Notice {
            level: Level::Warning,
            text: "something happened that cannot be told without a secret".to_owned(),
        });
        self.notes.push(Note { at: (self.runtime.now)(), body });
    }

    /// The same thing without secrets, for a text that is made of it.
    pub(crate) fn clean<T: Clone + Serialize + DeserializeOwned>(&self, thing: &T) -> Result<T, LegAbort> {
        let words = "tell of the work without a secret: one of them is a word by which it is stored";
        self.redactor
            .stored(thing.clone())
            .ok_or_else(|| LegAbort::failed(kind::DELIVERY, format!("failed to {words}")))
    }

    pub(crate) fn notice(&mut self, level: Level, text: String) {
        self.note(Body::Notice { level, text });
    }

    /// Writes what was noted, so that others see it while the leg goes on.
    pub(crate) fn flush(&mut self) -> Result<(), store::Error> {
        if !self.notes.is_empty() {
            fault::outage("flush", &self.runtime.environment)?;
            self.store.note(self.hold, &self.notes)?;
            self.notes.clear();
        }
        Ok(())
    }

    /// Writes a piece of transcript, and what was noted, in one commit.
    pub(crate) fn transcribe(&mut self, chunk: &Chunk) -> Result<(), store::Error> {
        fault::outage("flush", &self.runtime.environment)?;
        self.store.transcribe(self.hold, chunk, &self.usage, &self.notes)?;
        self.notes.clear();
        Ok(())
    }

    /// Renews the lease, and looks whether a person asked for the end, each when it is time to.
    pub(crate) fn pulse(&mut self) -> Result<Pulse, store::Error> {
        if self.looked.elapsed() < LOOK {
            return Ok(Pulse::Beating);
        }
        self.looked = Instant::now();
        if self.since_beat() < HEARTBEAT {
            return self.store.pulse(self.hold);
        }
        // The lease begins at some moment after this one.
        let asked = awake();
        let pulse = self.store.heartbeat(self.hold, super::LEASE)?;
        self.beat = asked;
        Ok(pulse)
    }

    /// How long ago the lease was last renewed.
    pub(crate) fn since_beat(&self) -> Duration {
        awake().saturating_sub(self.beat)
    }
}

/// The time since the machine's boot, also while it slept: leases do not sleep.
fn awake() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}
