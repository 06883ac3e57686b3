//! When to retry after the provider of a model rejected work.

use std::time::Duration;

use acquit_core::config::Waiting;
use acquit_core::time::{Span, Timestamp, backoff};

use crate::leg::span;

/// Wait after the first rejection without a time. Doubles each time.
const FIRST: Duration = Duration::from_secs(30);
/// Maximum of these waits. Short enough to notice soon that the provider is back, long enough not to flood it.
const LONGEST: Duration = Duration::from_mins(30);
/// Wait for a usage limit without a known end. Such limits last hours.
const UNNAMED: Duration = Duration::from_mins(30);
/// Steps to find a time within the allowed hours, also on days with 23 or 25 hours.
const STEPS: usize = 4;

/// Input for computing when to retry.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    pub(super) now: Timestamp,
    pub(super) waiting: &'a Waiting,
    /// Number of earlier waits because of an overload.
    pub(super) before: u32,
}

impl Clock<'_> {
    /// Returns how long to wait for a limit that ends at `until`, or why that is too long.
    pub(super) fn until_reset(&self, until: Option<Timestamp>) -> Result<Span, String> {
        let wait = until.map_or(UNNAMED, |until| until.since(self.now)) + self.waiting.slack.duration();
        if wait > self.waiting.longest.duration() {
            let longest = self.waiting.longest;
            return Err(format!(
                "it is over in {}, and the longest wait is {longest} (`longest` of [waiting] in acquit.toml)",
                span(wait)
            ));
        }
        Ok(self.within_hours(wait))
    }

    /// Returns how long to wait for an overloaded provider.
    pub(super) fn backoff(&self) -> Span {
        self.within_hours(backoff(FIRST, self.before, LONGEST))
    }

    /// Extends the wait until it ends within the hours in which legs may continue.
    fn within_hours(&self, wait: Duration) -> Span {
        let Some(hours) = self.waiting.hours else { return span(wait) };
        let mut wait = wait;
        for _ in 0..STEPS {
            let Some(minute) = minute_of_day(self.now.plus(wait), self.waiting.zone.as_deref()) else {
                break;
            };
            match hours.until(minute) {
                0 => break,
                minutes => wait += Duration::from_mins(minutes.into()),
            }
        }
        span(wait)
    }
}

/// Returns the local minute of the day at a moment. Uses the zone of this machine if it does not know `zone`.
fn minute_of_day(at: Timestamp, zone: Option<&str>) -> Option<u16> {
    let named = zone.and_then(|name| jiff::tz::TimeZone::get(name).ok());
    let zone = named.unwrap_or_else(jiff::tz::TimeZone::system);
    let time = jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone).time();
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::config::Hours;

    /// 2026-03-28 21:00 UTC; in Berlin 22:00, the evening before the clocks go forward.
    const NOW: Timestamp = Timestamp(1_774_731_600_000);

    fn clock(waiting: &Waiting, before: u32) -> Clock<'_> {
        Clock { now: NOW, waiting, before }
    }

    #[test]
    fn a_limit_is_waited_for_until_it_resets_and_a_little_longer() {
        let usual = Waiting::default();
        let at = NOW.plus(Duration::from_mins(90));
        assert_eq!(clock(&usual, 0).until_reset(Some(at)), Ok(Span::mins(91)));
        assert_eq!(clock(&usual, 0).until_reset(Some(Timestamp(0))), Ok(Span::mins(1)), "over already");
        assert_eq!(clock(&usual, 0).until_reset(None), Ok(Span::mins(31)));
        let week = NOW.plus(Duration::from_hours(7 * 24));
        assert!(clock(&usual, 0).until_reset(Some(week)).unwrap_err().contains("`longest`"));
    }

    #[test]
    fn an_overload_is_waited_for_ever_longer_up_to_a_limit() {
        let usual = Waiting::default();
        let waits: Vec<Duration> =
            [0, 1, 2, 7, u32::MAX].map(|before| clock(&usual, before).backoff().duration()).to_vec();
        assert_eq!(waits[..3], [30, 60, 120].map(Duration::from_secs));
        assert_eq!(waits[3..], [LONGEST, LONGEST]);
    }

    #[test]
    fn a_leg_goes_on_within_its_hours_also_when_the_clocks_change() {
        let hours = Hours::parse("03:30-06:00");
        let waiting = Waiting { hours, zone: Some("Europe/Berlin".to_owned()), ..Waiting::default() };
        let wait = clock(&waiting, 0).backoff().duration();
        let minute = minute_of_day(NOW.plus(wait), Some("Europe/Berlin")).unwrap();
        // 02:00 does not exist that night: four and a half hours by the clock after 23:00 are three and a half.
        assert!((210..360).contains(&minute), "{minute}");
        assert!(wait < Duration::from_hours(26), "{wait:?}");
    }
}
