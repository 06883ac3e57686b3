//! Ends the harness if the store does not answer until the lease is almost over.
//!
//! If a store refuses, the harness notices at once and ends its agent in time. But a connection can stay open and
//! silent for good: a proxy hangs, a host is paused. Then the thread that would end the agent waits for the answer, and
//! another worker would start the leg a second time. So a separate thread watches the calls. It ends the whole process:
//! its programs end with it, and the next claimer of the leg continues from the last commit, as after a crash.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::pause::pause;

/// The part of the lease that is left when the process ends: 15 seconds. Later than the agent would be ended if the store
/// refused.
const MARGIN: u32 = 20;

/// Number of checks per lease: one every 5 seconds.
const LOOKS: u32 = 60;

/// The part of the lease that a call must have been waiting: 10 seconds. After a machine has slept, all of them look
/// late for a moment.
const PATIENCE: u32 = 30;

/// Stack of the thread, which only compares numbers.
const STACK: usize = 64 * 1024;

/// The watching thread's view of a leg. Times are those of the caller's clock.
#[derive(Debug, Default)]
struct Seen {
    /// Milliseconds at the last renewal of the lease.
    renewed: AtomicU64,
    /// Number of calls of the store that began or ended: odd while one waits for its answer.
    calls: AtomicU64,
}

/// Watches the calls of the store until it is dropped.
pub(crate) struct Watchdog(Arc<Seen>);

impl Watchdog {
    /// Starts watching. `now` is a clock that counts while the machine sleeps, and `end` ends the process.
    pub(crate) fn start(lease: Duration, now: fn() -> Duration, end: fn()) -> Self {
        Self::looking(lease / LOOKS, lease / PATIENCE, lease.saturating_sub(lease / MARGIN), now, end)
    }

    fn looking(
        look: Duration,
        patience: Duration,
        limit: Duration,
        now: fn() -> Duration,
        end: fn(),
    ) -> Self {
        let seen = Arc::new(Seen::default());
        seen.renewed.store(millis(now()), Ordering::Relaxed);
        let weak = Arc::downgrade(&seen);
        let watch = move || watch(&weak, look, patience, limit, now, end);
        // Without the thread, only a store that hangs is noticed too late.
        let _ = std::thread::Builder::new().name("lease".to_owned()).stack_size(STACK).spawn(watch);
        Self(seen)
    }

    /// Notes that the lease was renewed at this time.
    pub(crate) fn renewed(&self, at: Duration) {
        self.0.renewed.store(millis(at), Ordering::Relaxed);
    }

    /// Runs a call of the store.
    pub(crate) fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        let answer = call();
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        answer
    }
}

fn watch(
    seen: &Weak<Seen>,
    look: Duration,
    patience: Duration,
    limit: Duration,
    now: fn() -> Duration,
    end: fn(),
) {
    // The number of calls at the last change, and its time, by a clock that stops while the machine sleeps.
    let mut last = (0, Instant::now());
    loop {
        pause(look);
        let Some(seen) = seen.upgrade() else { return };
        let calls = seen.calls.load(Ordering::Relaxed);
        if calls != last.0 {
            last = (calls, Instant::now());
        }
        let is_waiting = calls % 2 == 1 && last.1.elapsed() >= patience;
        let age = millis(now()).saturating_sub(seen.renewed.load(Ordering::Relaxed));
        if is_waiting && Duration::from_millis(age) >= limit {
            end();
            return;
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const STEP: Duration = Duration::from_millis(5);

    fn now() -> Duration {
        static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        BEGAN.get_or_init(Instant::now).elapsed()
    }

    #[test]
    fn a_call_without_an_answer_ends_the_process_before_its_lease_does() {
        static ENDED: AtomicBool = AtomicBool::new(false);
        let watchdog =
            Watchdog::looking(STEP, 2 * STEP, 10 * STEP, now, || ENDED.store(true, Ordering::SeqCst));
        let begin = Instant::now();
        watchdog.call(|| {
            while !ENDED.load(Ordering::SeqCst) {
                assert!(begin.elapsed() < Duration::from_secs(20), "it was never ended");
                pause(STEP);
            }
        });
        assert!(begin.elapsed() >= 10 * STEP, "it was ended after {:?}", begin.elapsed());
    }

    #[test]
    fn neither_renewed_leases_nor_calls_that_are_answered_end_it() {
        static ENDED: AtomicBool = AtomicBool::new(false);
        // A margin of zero: only answered calls keep it alive.
        let answered = Watchdog::looking(STEP, 2_000 * STEP, Duration::ZERO, now, || {
            ENDED.store(true, Ordering::SeqCst);
        });
        let renewed = Watchdog::looking(STEP, STEP, Duration::from_mins(1), now, || {
            ENDED.store(true, Ordering::SeqCst);
        });
        renewed.call(|| {
            for _ in 0..20 {
                answered.call(|| pause(STEP));
                renewed.renewed(now());
            }
        });
        // No call is pending: the leg is working.
        pause(20 * STEP);
        assert!(!ENDED.load(Ordering::SeqCst));
    }
}
