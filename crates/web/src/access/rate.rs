//! Rate limiting: a token bucket for each caller.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of callers to remember. Beyond that, full buckets are dropped, which loses nothing.
const MOST: usize = 10_000;

/// A rate limit.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Number of requests at once.
    pub burst: u32,
    /// Time until one more request is allowed.
    pub every: Duration,
}

/// Buckets by caller.
pub struct Limiter {
    rate: Rate,
    /// When each bucket will be full again.
    full: Mutex<HashMap<String, Instant>>,
}

impl Limiter {
    /// Creates a limiter in which all buckets are full.
    pub fn new(rate: Rate) -> Self {
        Self { rate, full: Mutex::new(HashMap::new()) }
    }

    /// Takes one request from a caller's bucket, or returns the time to wait.
    pub fn take(&self, caller: &str, now: Instant) -> Result<(), Duration> {
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() >= MOST {
            full.retain(|_, moment| *moment > now);
        }
        let whole = self.rate.every * self.rate.burst;
        let before = full.get(caller).copied().filter(|moment| *moment > now).unwrap_or(now);
        let after = before + self.rate.every;
        let missing = after.saturating_duration_since(now);
        match missing.checked_sub(whole) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                full.insert(caller.to_owned(), after);
                Ok(())
            }
        }
    }

    /// Checks whether the bucket has room for one more request, without taking it.
    pub fn has_room(&self, caller: &str, now: Instant) -> Result<(), Duration> {
        let full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = self.rate.every * self.rate.burst;
        let missing = full.get(caller).map_or(Duration::ZERO, |moment| moment.saturating_duration_since(now))
            + self.rate.every;
        match missing.checked_sub(whole) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_then_one_at_a_time_and_each_caller_has_a_bucket() {
        let limiter = Limiter::new(Rate { burst: 3, every: Duration::from_secs(1) });
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.has_room("a", start), Ok(()));
            assert_eq!(limiter.take("a", start), Ok(()));
        }
        assert_eq!(limiter.take("a", start), Err(Duration::from_secs(1)));
        assert_eq!(limiter.has_room("a", start), Err(Duration::from_secs(1)));
        assert_eq!(limiter.take("b", start), Ok(()));
        let later = start + Duration::from_secs(1);
        assert_eq!(limiter.take("a", later), Ok(()));
        assert!(limiter.take("a", later).is_err());
    }
}
