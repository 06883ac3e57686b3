//! The only place that reads a clock. Tests set the time instead, so that leases expire and delays pass without
//! waiting.
#![allow(clippy::disallowed_methods, reason = "this is the clock that all others ask")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use acquit_core::time::Timestamp;

/// Time source of a store.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock. On PostgreSQL the server's clock, so that all machines agree on when a lease expires.
    System,
    /// Milliseconds since 1970, set from outside.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the current time on this machine.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                Timestamp(0).plus(since)
            }
            Self::Set(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }
}

/// Returns the uptime of this machine, including the time it slept.
pub(crate) fn up() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}
