//! Timestamps and durations as plain numbers. This module never reads a clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns this time plus a duration. Saturates instead of wrapping.
    #[must_use]
    pub fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time since `earlier`; zero if this is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A duration as people write it: `90s`, `10m`, `1h30m`, `500ms`. Stored in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u64", from = "u64")]
pub struct Span(Duration);

/// The longest span that can be written: a year. Anything longer is a typo.
const LONGEST: Duration = Duration::from_hours(365 * 24);

impl Span {
    /// Creates a span of whole seconds.
    pub const fn secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Creates a span of whole minutes.
    pub const fn mins(minutes: u64) -> Self {
        Self(Duration::from_secs(minutes * 60))
    }

    /// Converts to the standard library's type.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// Parses `1h30m`, `10m`, `90s`, `500ms`, or a sum of units in descending order.
    pub fn parse(text: &str) -> Option<Self> {
        const UNITS: [(&str, u64); 5] =
            [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        let mut rest = text;
        let mut total = 0u64;
        let mut unit_floor = 0;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: u64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let position = UNITS.iter().position(|(unit, _)| *unit == &rest[..letters])?;
            if position < unit_floor {
                return None;
            }
            unit_floor = position + 1;
            rest = &rest[letters..];
            total = total.checked_add(number.checked_mul(UNITS[position].1)?)?;
        }
        let length = Duration::from_millis(total);
        (!text.is_empty() && length <= LONGEST).then_some(Self(length))
    }
}

impl From<Span> for u64 {
    fn from(span: Span) -> Self {
        Self::try_from(span.0.as_millis()).unwrap_or(Self::MAX)
    }
}

impl From<u64> for Span {
    fn from(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

impl fmt::Display for Span {
    /// Shows at most two units: `1h 05m`, `3m 20s`, `4.2s`, `230ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match u64::from(*self) {
            ms @ 0..1_000 => format!("{ms}ms"),
            ms @ 1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
            ms @ 60_000..3_600_000 => format!("{}m {:02}s", ms / 60_000, ms % 60_000 / 1_000),
            ms => format!("{}h {:02}m", ms / 3_600_000, ms % 3_600_000 / 60_000),
        };
        f.pad(&text)
    }
}

/// Returns the delay after a failure that was preceded by `before` failures: `first`, doubled each time, up to
/// `longest`.
pub fn backoff(first: Duration, before: u32, longest: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(before)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_grows_twofold_up_to_its_limit_however_often_something_fails() {
        let (first, longest) = (Duration::from_secs(2), Duration::from_mins(5));
        let waits = [0, 1, 2, 7, 8, u32::MAX].map(|before| backoff(first, before, longest).as_secs());
        assert_eq!(waits, [2, 4, 8, 256, 300, 300]);
        assert_eq!(backoff(first, u32::MAX, Duration::MAX), first.saturating_mul(u32::MAX));
    }

    #[test]
    fn spans_are_read_as_people_write_them() {
        let millis = |text| Span::parse(text).map(u64::from);
        assert_eq!(millis("1h30m"), Some(5_400_000));
        assert_eq!(millis("90s"), Some(90_000));
        assert_eq!(millis("500ms"), Some(500));
        for bad in ["", "5", "m", "1m1h", "1m1m", "-1s", "9999d", "99999999999999999999s", "1 h", "1µs"] {
            assert_eq!(millis(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn spans_are_shown_with_two_units_at_most() {
        let shown = |ms: u64| Span::from(ms).to_string();
        assert_eq!(
            [shown(230), shown(4_230), shown(200_000), shown(3_900_000)],
            ["230ms", "4.2s", "3m 20s", "1h 05m"]
        );
    }
}
