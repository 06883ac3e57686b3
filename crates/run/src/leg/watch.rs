//! Watches a running program: renews the lease, writes the transcript and reacts to a cancellation.

use std::time::{Duration, Instant};

use acquit_core::agent::Chunk;
use acquit_core::store::{self, Pulse};

use super::LegContext;
use super::stall::{StallDetector, Stop};
use crate::mcp::Progress;
use crate::pause::pause;
use crate::process::{Next, Watcher};
use crate::transcript::Transcript;

/// Maximum time until output of the agent is written. Viewers are never further behind.
const FLUSH: Duration = Duration::from_millis(400);

/// Watches an agent or, without a transcript, a gate or setup command.
pub(crate) struct Watch<'d, 'a> {
    pub(crate) ctx: &'d mut LegContext<'a>,
    pub(crate) transcript: Option<&'d mut Transcript>,
    /// Error of the store that ended the leg.
    pub(crate) broken: Option<store::Error>,
    /// Whether a person cancelled it.
    pub(crate) cancelled: bool,
    /// Whether it was killed because it kept running after it reported the end of its turn.
    pub(crate) lingered: bool,
    /// Detects an agent that makes no progress. `stopped` is its result.
    pub(crate) stall: Option<StallDetector>,
    pub(crate) stopped: Option<Stop>,
    /// How long the program may keep running after its turn, and since when it does.
    linger: Option<Duration>,
    ended: Option<Instant>,
    /// Progress reports of the agent, if it can send them.
    pub(crate) progress: Option<Progress>,
    flushed: Instant,
    /// A chunk of the transcript that the store has not accepted yet.
    unwritten: Option<Chunk>,
}

impl<'d, 'a> Watch<'d, 'a> {
    pub(crate) fn new(ctx: &'d mut LegContext<'a>, transcript: Option<&'d mut Transcript>) -> Self {
        Self {
            ctx,
            transcript,
            broken: None,
            cancelled: false,
            lingered: false,
            stall: None,
            stopped: None,
            linger: None,
            ended: None,
            progress: None,
            flushed: Instant::now(),
            unwritten: None,
        }
    }

    /// Kills the program this long after it reported the end of its turn.
    pub(crate) fn ending_within(self, linger: Duration) -> Self {
        Self { linger: Some(linger), ..self }
    }

    /// Returns whether an agent keeps running although its turn is over. If it prints something more, it has started
    /// another turn.
    fn stays(&mut self) -> bool {
        let over = self.transcript.as_ref().is_some_and(|transcript| transcript.summary.end.is_some());
        let since = *self.ended.get_or_insert_with(Instant::now);
        if !over {
            self.ended = None;
        }
        over && self.linger.is_some_and(|linger| since.elapsed() >= linger)
    }

    /// Writes what is left after the end. Retries while the store is unavailable, as long as the lease lasts.
    pub(crate) fn finish(&mut self) -> Result<(), store::Error> {
        if let Some(transcript) = &mut self.transcript {
            transcript.finish();
        }
        loop {
            match self.write() {
                Err(error) if self.ctx.is_passing(&error) => pause(FLUSH),
                result => return result,
            }
        }
    }

    /// Writes what there is now. Keeps what an unavailable store does not accept, to write it later.
    pub(crate) fn flush(&mut self) {
        if let Err(error) = self.write() {
            self.tolerate(error);
        }
    }

    fn write(&mut self) -> Result<(), store::Error> {
        self.flushed = Instant::now();
        for news in self.progress.iter_mut().flat_map(Progress::news) {
            self.ctx.note(news);
        }
        let Some(transcript) = &mut self.transcript else { return self.ctx.flush() };
        self.ctx.usage = transcript.summary.usage.clone();
        loop {
            let Some(chunk) = self.unwritten.take().or_else(|| transcript.cut()) else {
                return self.ctx.flush();
            };
            if let Err(error) = self.ctx.transcribe(&chunk) {
                self.unwritten = Some(chunk);
                return Err(error);
            }
        }
    }

    /// Tolerates a store that is briefly unavailable, as long as the lease lasts. Ends the agent if the store reports
    /// that the leg is no longer ours.
    fn tolerate(&mut self, error: store::Error) {
        if !self.ctx.is_passing(&error) {
            self.broken = Some(error);
        }
    }
}

impl Watcher for Watch<'_, '_> {
    fn output(&mut self, _offset: u64, bytes: &[u8]) {
        let Some(transcript) = &mut self.transcript else { return };
        transcript.take(bytes);
        // While the store is unavailable, the transcript keeps the first entries of each burst and counts the rest. The
        // file has everything.
        let away = self.unwritten.is_some() && self.flushed.elapsed() < FLUSH;
        if transcript.is_full() && self.broken.is_none() && !away {
            self.flush();
        }
    }

    fn tick(&mut self) -> Next {
        if self.broken.is_none() && self.flushed.elapsed() >= FLUSH {
            self.flush();
        }
        match self.ctx.pulse() {
            Ok(Pulse::Beating) => {}
            Ok(Pulse::Cancel) => self.cancelled = true,
            Err(error) => self.tolerate(error),
        }
        self.lingered |= !self.cancelled && self.stays();
        if let (Some(stall), Some(transcript)) = (&mut self.stall, &mut self.transcript)
            && self.stopped.is_none()
        {
            self.stopped = stall.look(&transcript.summary);
        }
        if self.cancelled || self.lingered || self.stopped.is_some() || self.broken.is_some() {
            return Next::Stop;
        }
        Next::Continue
    }
}
